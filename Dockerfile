# The main job, and every command of the extra `run`, without a key and without a network:
#   docker build -t undogmatic . && docker run --rm -v "$PWD:/work" undogmatic
#   docker run --rm -v "$PWD:/work" undogmatic check verdicts.csv
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 undogmatic \
    && install -d -o undogmatic /work /cache
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY undogmatic undogmatic
COPY conf conf
COPY data data
RUN pip install --no-cache-dir ".[run]"
USER undogmatic
ENV UNDOGMATIC_CACHE=/cache MPLCONFIGDIR=/cache/matplotlib
WORKDIR /work
ENTRYPOINT ["undogmatic"]
CMD ["run"]
