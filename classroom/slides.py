"""The slides: decks of about fifteen, written by hand for a projector, as reveal.js pages that need no network.

A deck is Markdown, `classroom/decks/04.md`. A line `--- slide 3` begins a slide of 3 minutes (`--- slide 3 late`: leave
it out when you are late); `--- subslide`, `--- fragment` (appears with a click) and `--- notes` are nbconvert's other
slide types. What stands in the lesson is shown, not repeated:

    cell: 8dbfd50213 output            a cell of the lesson: its outputs; `code`: its code; nothing: both
    cell: 74bc3b3668 code 7-16 3|5-6   its lines 7 to 16; of these the third is lit, after a click the fifth and sixth
    predict: nose-scores               "Your guess?"; the notes get the answer, and what to say to the wrong guesses
    exercise: cross_attention          its points and minutes; the notes get our solution and known mistakes
    live: stage=3                      a link to the live model in this state, in lecture mode

`python -m classroom.slides 04` prints the ids of lesson 04's cells. A fenced block `flow` becomes a row of boxes:
x, (B, N, D) -> qkv, (B, N, 3D) -> ...
"""

import sys

from .lessons import chosen, read

if __name__ == "__main__":
    for cell in read(*chosen(sys.argv[1:2])).cells:
        if cell.cell_type == "code":
            print(cell.id.partition("-")[2], cell.source.partition("\n")[0][:90], sep="  ")
