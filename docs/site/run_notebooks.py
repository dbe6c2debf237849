"""Executes the notebooks of the documentation and stores their output: `python docs/site/run_notebooks.py`."""

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def outputs(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What each code cell prints and what its last expression is worth, in the form that a notebook stores."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for count, cell in enumerate(cells, 1):
        tree = ast.parse("".join(cell["source"]))
        last = (
            tree.body.pop()
            if tree.body and isinstance(tree.body[-1], ast.Expr)
            else None
        )
        printed, made = io.StringIO(), []
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            exec(compile(tree, f"cell {count}", "exec"), names)
            value = (
                eval(
                    compile(ast.Expression(last.value), f"cell {count}", "eval"), names
                )
                if last
                else None
            )
        if printed.getvalue():
            made.append(
                {
                    "name": "stdout",
                    "output_type": "stream",
                    "text": printed.getvalue().splitlines(True),
                }
            )
        if value is not None:
            data = {"text/plain": repr(value).splitlines(True)}
            if hasattr(value, "to_html"):
                data["text/html"] = value.to_html().splitlines(True)
            made.append(
                {
                    "data": data,
                    "execution_count": count,
                    "metadata": {},
                    "output_type": "execute_result",
                }
            )
        found.append(made)
    return found


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells of a notebook that hold code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def main() -> None:
    """Execute every notebook in its folder and write it back."""
    os.chdir(NOTEBOOKS)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = code_cells(notebook)
        for count, (cell, made) in enumerate(
            zip(cells, outputs(cells), strict=True), 1
        ):
            cell["outputs"], cell["execution_count"] = made, count
        path.write_text(
            json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
