"""Runs a hand-in, in the sandbox: notebook in, each cell's outputs out. What a cell shows is bounded."""

import json
import re
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from traitlets import Bool

from . import sandbox

LOUD = 20_000_000  # bytes: a cell that shows more is ended
TEXT, PICTURES = 100_000, 2_000_000  # characters of a cell that are kept
CUT = "\n[... cut, it is too long ...]\n"


def cut(text: str, most: int = TEXT) -> str:
    """Its beginning and its end."""
    return text if len(text) <= most else text[: most // 2] + CUT + text[-most // 2 :]


def bounded(outputs: list[dict]) -> list[NotebookNode]:
    """Text, errors and pictures, as much as fits on a page; HTML, SVG, JavaScript and widgets are left out."""
    found, left = [], PICTURES
    texts: dict[str, list[str]] = {"stdout": [], "stderr": []}
    for output in outputs:
        data, kind = output.get("data", {}), output.get("output_type")
        if kind == "stream" and output["name"] in texts:
            texts[output["name"]].append(str(output["text"]))
        elif kind == "error":
            lines = [cut(str(line), TEXT // 10) for line in output["traceback"][-10:]]
            name, value = (cut(str(output[part]), TEXT // 10) for part in ("ename", "evalue"))
            found.append(new_output("error", ename=name, evalue=value, traceback=lines))
        elif "image/png" in data and re.fullmatch(r"[\w+/=\s]*", image := str(data["image/png"]), re.A):
            left -= len(image)
            found += [new_output("display_data", {"image/png": image})] if left > 0 else []
        elif "text/plain" in data:
            texts["stdout"].append(f"{data['text/plain']}\n")
    shown = [new_output("stream", name=name, text=cut("".join(text))) for name, text in texts.items() if text]
    return [*shown, *found[-50:]]


class Kernel(NotebookClient):
    """Runs all cells; one that ends the kernel or does not end is left out, and all others run in a fresh one."""

    interrupt_on_timeout = Bool(False)  # what does not listen to it would cost every later cell its time, too
    allow_errors = Bool(True)

    async def async_execute_cell(self, cell: NotebookNode, *arguments: Any, **more: Any) -> NotebookNode:
        self.running, self.shown, self.why = cell, 0, "Your code ended the kernel: too much memory?"
        try:
            return await super().async_execute_cell(cell, *arguments, **more)
        finally:
            cell.outputs = bounded(cell.outputs)

    def process_message(self, msg: dict, cell: NotebookNode, cell_index: int) -> Any:
        self.shown += len(repr(msg["content"])) + sum(map(len, msg.get("buffers", [])))
        if self.shown > LOUD:  # before the next ones fill the memory
            self.why = f"Your code was stopped: more than {LOUD // 10**6} MB of output"
            return [process.kill() for process in sandbox.children()]
        return super().process_message(msg, cell, cell_index)

    def run(self) -> None:
        starts = 3  # a kernel's ports are chosen, freed and then taken: another process may be faster
        while True:
            try:
                self.execute()
                return
            except (CellTimeoutError, DeadKernelError) as error:
                name, tags = type(error).__name__, self.running.metadata.setdefault("tags", [])
                tags.append(self.skip_cells_with_tag)
                seconds = self._get_timeout(self.running)
                endless = f"Your code did not finish in {seconds} seconds: an endless loop?"
                said = self.why if name == "DeadKernelError" else endless
                self.running.outputs = [new_output("error", ename=name, evalue=said, traceback=[said])]
                self.km = None
            except RuntimeError:
                if not (starts := starts - 1):
                    raise


def main() -> None:
    given, out = sandbox.inside()
    asked = json.load(given)
    cells = [new_code_cell(source, metadata={"nbgrader": {}} if own else {}) for source, own in asked["cells"]]
    kernel = Kernel(
        new_notebook(cells=cells),
        timeout_func=lambda cell: asked["limit"] * (1 if "nbgrader" in cell.metadata else 5),
        extra_arguments=["--IPKernelApp.log_level=CRITICAL", "--HistoryManager.hist_file=:memory:"],
    )
    kernel.run()
    out.write(json.dumps([cell.outputs for cell in cells]).encode())
    out.flush()


if __name__ == "__main__":
    main()
