"""Tables as courts publish them, brought into one of the user's; and nicknames."""

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import Capture, Patch, put
from undogmatic.cli import main
from undogmatic.constructs.precedents.table import Precedents

STJ = """sequencialPrecedente,tipoPrecedente,numeroPrecedente,situacao,teseFirmada,dataJulgamento
1,Tema,9001,Trânsito em Julgado,"Uma tese\n  em duas linhas.",12/02/2014
2,Tema,9002,Afetado,,
3,IAC,91,Acórdão Publicado,Outra tese.,2018-06-27
4,Tema,9003,Cancelado,,
5,Controvérsia,12,Vinculada a Tema,,
"""
CONTROL = """Precedente;Situação;Tese
ADI 94.277;Julgada;Uma tese
ADPF 9132;Julgada;Uma tese
ADC 943;Julgada;Uma tese
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "temas.csv", STJ)
    put(tmp_path / "controle.csv", CONTROL)
    return tmp_path


def outcome(table: Precedents, text: str) -> str:
    (found,) = table.look_up(text)
    return found.outcome


def test_published_themes_and_actions_complete_the_table_in_one_command(
    capsys: Capture,
) -> None:
    main(
        [
            "precedents",
            "import",
            "temas.csv",
            "controle.csv",
            "--court",
            "STJ",
            "--out",
            "p.csv",
        ]
    )
    said = capsys.readouterr().out
    for line in (
        "temas.csv: 3 precedents read (kind = tipoPrecedente, number = numeroPrecedente",
        "left out: 1 not decided",
        "left out: 1 of the kind 'Controvérsia'",
        "1 IAC (STJ), 1 ADI (STF), 1 ADPF (STF), 1 ADC (STF)",
        "Next: undogmatic precedents FILE precedents.path=p.csv",
    ):
        assert line in said
    table = Precedents(path="p.csv")
    assert table.about["n"] == Precedents().about["n"] + 6
    assert outcome(table, "Tema 9.001 do STJ") == "found"
    assert outcome(table, "Tema 9.003 do STJ") == "changed"
    assert outcome(table, "Tema 9.002 do STJ") == "not_listed"
    assert outcome(table, "ADI 94.277/DF") == outcome(table, "ADPF 9132") == "found"
    (row,) = [
        row
        for row in csv.DictReader(
            Path("p.csv").read_text(encoding="utf-8").splitlines()
        )
        if row["number"] == "9001"
    ]
    assert (row["date"], row["holding"]) == ("2014-02-12", "Uma tese em duas linhas.")


STF = """<html><head><title>Título</title></head><body><table><thead><tr><th>Tema</th>
<th>Leading Case</th><th>Título</th><th>Descrição</th><th>Descrição</th><th>Acórdão</th>
<th>Há Repercussão</th><th>Data do Julgamento</th><th>Situação do Tema</th><th>Tese</th></tr></thead>
<tbody><tr><td>9101</td><td>RE 999937</td><td>Um</td><td>a</td><td>b</td>
<td><a href="https://example.org"><div>Acórdão</div></a></td><td>HÃ¡</td><td>21/03/2013</td>
<td>Trânsito em Julgado</td><td>Uma tese.</td></tr>
<tr><td>9102</td><td>RE 999002</td><td>Dois</td><td>a</td><td>b</td><td>-</td><td>NÃ£o hÃ¡</td>
<td></td><td>Trânsito em Julgado</td><td>Outra tese.</td></tr></tbody></table></body></html>"""


def test_the_page_that_the_stf_exports_as_xls_is_read(capsys: Capture) -> None:
    put(Path("repercussao_geral.xls"), STF)
    main(
        [
            "precedents",
            "import",
            "repercussao_geral.xls",
            "--court",
            "STF",
            "--kind",
            "tema",
            "--out",
            "s.csv",
        ]
    )
    said = capsys.readouterr().out
    assert "repercussao_geral.xls: 1 precedents read (number = Tema" in said
    assert "left out: 1 not decided" in said
    table = Precedents(path="s.csv")
    (found,) = table.look_up("Tema 9.101 do STF")
    assert found.outcome == "found"
    assert found.entries[0].cells["leading_case"] == "RE 999937"
    assert found.entries[0].cells["date"] == "2013-03-21"
    assert outcome(table, "Tema 9102 do STF") == "not_listed"


def test_the_table_says_its_size_by_kind(capsys: Capture) -> None:
    put(Path("text.txt"), "Aplica-se o Tema 69 do STF.")
    for language, told in (
        ("en", "Of each kind the table has: "),
        ("pt", "De cada tipo, a tabela tem: "),
    ):
        main(["precedents", "text.txt", "--language", language])
        said = capsys.readouterr().out
        assert told in said and "13 Súmula Vinculante (STF)" in said


def test_what_is_known_of_a_change_is_kept_and_a_number_column_names_the_kind() -> None:
    put(
        Path("rg.csv"),
        "Tema;Situação;Tese\n69;Trânsito em julgado;Uma tese\n8888;Mérito julgado;T\n",
    )
    put(Path("sv.csv"), "Súmula Vinculante;Enunciado\n999;Um enunciado\n")
    main(
        ["precedents", "import", "rg.csv", "sv.csv", "--court", "STF", "--out", "p.csv"]
    )
    table = Precedents(path="p.csv")
    assert outcome(table, "Tema 69 do STF") == "changed"
    assert outcome(table, "Tema 8888 do STF") == "found"
    assert outcome(table, "Súmula Vinculante 999") == "found"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["temas.csv"],
            "of 4 row(s) it is not known of which court they are. Say so: --court",
        ),
        (
            ["temas.csv", "--court", "XYZ"],
            "`--court` is 'XYZ'; it may be: STF, STJ, TST",
        ),
        (["temas.csv", "--kind", "lei"], "`--kind` is 'lei'; it may be: tema, sumula"),
        (
            ["odd.csv", "--court", "STF"],
            "no column holds the numbers of precedents. There are: a",
        ),
        ([], "`precedents import` names no file"),
    ],
)
def test_what_is_not_known_is_asked_for(
    words: list[str], said: str, capsys: Capture
) -> None:
    put(Path("odd.csv"), "a,b\n1,2\n")
    with pytest.raises(SystemExit):
        main(["precedents", "import", *words, "--out", "p.csv"])
    assert said in capsys.readouterr().err.replace("\n", " ")
    assert not Path("p.csv").exists()


def test_options_of_the_import_are_no_options_of_a_look_up(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["precedents", "temas.csv", "--court", "STF"])
    assert "go with `undogmatic precedents import FILE`" in capsys.readouterr().err


def test_a_nickname_of_one_precedent_is_a_citation() -> None:
    (found,) = Precedents().look_up("Depois da tese do século, o ICMS saiu da base.")
    assert found.shown == "Tema 69 (STF)" and found.citation.words == "tese do século"
    assert Precedents().look_up("a revisão da vida toda e as teses do século XX") == []
    assert Precedents().look_up("Conforme o T69/STF.")[0].shown == "Tema 69 (STF)"
    assert Precedents().look_up("Tema LXIX do STF")[0].shown == "Tema 69 (STF)"


NATIONAL = {
    "aggsEspecies": [{"tipo": "IRR", "total": 2}],
    "posicao_inicial": 1,
    "posicao_final": 9,
    "resultados": [
        {
            "highlight": {"tese": "É devido o <mark>recolhimento</mark>."},
            "id": "tst-irr-9310",
            "nr": 9310,
            "orgao": "TST",
            "tipo": "IRR",
            "situacao": "Acórdão Publicado",
            "questao": "É devido o recolhimento?",
            "tese": "É devido<br>o recolhimento &agrave; parte.",
            "processosParadigma": [
                {"numero": "00205635120225040731", "link": "https://example.org"}
            ],
            "ultimaAtualizacao": "22/09/2025",
        },
        {
            "id": "trt04-sum-941",
            "nr": 941,
            "orgao": "TRT04",
            "tipo": "SUM",
            "situacao": "Vigente",
            "questao": "Incide a contribuição.",
            "tese": "Não informado.",
        },
        {
            "id": "tst-irr-9311",
            "nr": 9311,
            "orgao": "TST",
            "tipo": "IRR",
            "situacao": "Mérito julgado",
            "questao": "Cabe a multa?",
            "tese": "não informado",
        },
        {
            "id": "trt21-irdr-902",
            "nr": 902,
            "orgao": "TRT21",
            "tipo": "IRDR",
            "situacao": "Não admitido",
            "questao": "Cabe o aviso?",
        },
        {
            "id": "stf-rg-9401",
            "nr": 9401,
            "orgao": "STF",
            "tipo": "RG",
            "situacao": "Trânsito em julgado",
            "tese": "Uma tese.",
        },
        {
            "id": "stj-rr-9402",
            "nr": 9402,
            "orgao": "STJ",
            "tipo": "RR",
            "situacao": "Cancelado",
        },
        {
            "id": "tst-oj-930",
            "nr": 930,
            "orgao": "TST",
            "tipo": "OJ",
            "situacao": "Vigente",
            "questao": "De qual seção?",
        },
        {
            "id": "trt04-nt-3",
            "nr": 3,
            "orgao": "TRT04",
            "tipo": "NT",
            "situacao": "Vigente",
        },
    ],
    "total": 857,
}
LABOUR = {
    "documentos": [
        {
            "id": 1,
            "tribunal": "TST",
            "tipo": "SUMULA",
            "numero": "9392",
            "ementa": "<p><strong>DANO MORAL.</strong> Compet&ecirc;ncia.</p>",
        },
        {
            "id": 2,
            "tribunal": "TST",
            "tipo": "ORIENTACAO_JURISPRUDENCIAL",
            "numero": "930",
            "orgaoJulgador": "Subseção II Especializada em Dissídios Individuais",
            "ementa": "Um texto.",
        },
        {
            "id": 3,
            "tribunal": "TST",
            "tipo": "PRECEDENTE_NORMATIVO",
            "numero": "920",
            "ementa": "Outro texto.",
        },
    ],
    "quantidadeTotal": 3,
}


def test_the_national_base_of_precedents_is_read_with_those_of_the_labour_courts(
    capsys: Capture,
) -> None:
    put(Path("bnp.json"), json.dumps(NATIONAL))
    main(["precedents", "import", "bnp.json", "--out", "p.csv"])
    said = capsys.readouterr().out
    assert (
        "bnp.json: 4 precedents read (kind = tipo, number = nr, court = orgao" in said
    )
    for line in (
        "left out: 2 not decided",
        "left out: 1 without the section that numbers it",
        "left out: 1 of the kind 'NT'",
    ):
        assert line in said
    table = Precedents(path="p.csv")
    (theme,) = table.look_up("Tema 9.310 do TST")
    assert theme.outcome == "found"
    cells = theme.entries[0].cells
    assert cells["holding"] == "É devido o recolhimento à parte."
    assert cells["leading_case"] == "00205635120225040731"
    assert "date" not in cells  # the day of the last change is none of a decision
    (regional,) = table.look_up("Súmula 941 do TRT da 4ª Região")
    assert regional.outcome == "found"
    assert regional.entries[0].cells["holding"] == "Incide a contribuição."
    assert outcome(table, "Tema 9.401 da repercussão geral") == "found"
    assert outcome(table, "Tema 9.402 do STJ") == "changed"
    assert outcome(table, "Tema 9.311 do TST") == "not_listed"


def test_what_the_labour_courts_publish_names_the_section_of_an_oj(
    capsys: Capture,
) -> None:
    put(Path("jt.json"), json.dumps(LABOUR))
    main(["precedents", "import", "jt.json", "--out", "p.csv"])
    assert "left out: 1 of the kind 'PRECEDENTE_NORMATIVO'" in capsys.readouterr().out
    table = Precedents(path="p.csv")
    (summary,) = table.look_up("Súmula 9392 do TST")
    assert summary.entries[0].cells["holding"] == "DANO MORAL. Competência."
    assert outcome(table, "OJ 930 da SDI-2 do TST") == "found"
    assert outcome(table, "OJ 930 da SDI-1 do TST") != "found"
    cited = "OJ 930 da Subseção II Especializada em Dissídios Individuais"
    assert outcome(table, cited) == "found"
