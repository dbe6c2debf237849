"""The review queue: what a human should look at, and the labels that come back.

queue     which items, in which order, with which probability; the files to fill in
sheet     CSV and JSON Lines as people fill them in, with line numbers
labels    labels checked; RUN/labels.jsonl
datasets  a run's labels as dataset files
commands  `undogmatic review export` and `undogmatic review import`
"""
