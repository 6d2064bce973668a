"""The lessons as nbgrader's assignment `notebooks`; README, "With a class", has the commands."""

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import NbGraderPreprocessor

c = get_config()  # noqa: F821 (nbgrader defines it)
c.CourseDirectory.source_directory = "."
c.CourseDirectory.release_directory = "build/student"
c.CourseDirectory.submitted_directory = "build/submitted"
c.CourseDirectory.autograded_directory = "build/autograded"
c.CourseDirectory.feedback_directory = "build/feedback"


class Unfold(NbGraderPreprocessor):
    """Students fill the cells that hold our solutions, so in their edition these cells stand open."""

    def preprocess(self, notebook, resources):
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.metadata.pop("jupyter", None)
                cell.metadata.pop("cellView", None)
        return notebook, resources


c.GenerateAssignment.preprocessors = [Unfold, *GenerateAssignment.preprocessors.default_args[0]]
