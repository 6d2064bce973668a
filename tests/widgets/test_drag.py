"""Lesson 15's game: by calls, its rounds against plain code."""

import math

from vit_tutorial.play import drag


def brightest(side, positions, query):
    """The patch with the largest score, one cosine after the other."""

    def angle(place, side, axis_pair):
        where = 2 * math.pi * (2 * (place + 0.5) / side - 1) if positions == "box" else place
        return where / 100 ** (axis_pair / 4)

    def score(row, column):
        found = 0
        for here, asking, (start, end) in zip((row, column), query, ((4, 3), (1, 3)), strict=True):
            for pair in range(4):
                learned = angle(end, 6, pair) - angle(start, 6, pair)
                found += math.cos(angle(here, side, pair) - angle(asking, side, pair) - learned)
        return found

    return max(((row, column) for row in range(side) for column in range(side)), key=lambda place: score(*place))


def test_the_rounds_have_the_peaks_that_plain_code_finds_and_par_is_the_rule_of_steps():
    game, by_rule, blind = drag.play(), 0, 0
    for side, positions, query in drag.ROUNDS:
        row, column = brightest(side, positions, query)
        finer = side // 6 if positions == "box" else 1
        call = query[0] - finer, min(query[1] + 2 * finer, side - 1)  # as far as the picture goes
        off = max(abs(call[0] - row), abs(call[1] - column))
        game.do("next round").click(call[0] * side + call[1]).do("uncover")
        assert game.off[-1] == off and f"You are {off} step" in game.said
        by_rule += off
        each = [max(abs(y - row), abs(x - column)) for y in range(side) for x in range(side)]
        blind += sum(each) / len(each)
    assert (by_rule, round(blind)) == (drag.PAR, drag.BLIND) and "in all: 2" in game.table
    assert game.do("next round").round == 5 and game.said.startswith("All five rounds are played: 2 steps off in all.")
    assert game.do("move freely").do("next round").round == 1 and game.table == "", "then they begin anew"


def test_freely_a_click_moves_the_query_and_the_map_moves_along():
    game = drag.play()
    assert game.query == (4, 1) and "6 × 6, box: brightest 1 up, 2 to the right." in game.said
    before = game.picture
    assert game.click(20).query == (3, 2) and "brightest 1 up, 2 to the right." in game.said
    assert game.picture != before and game.chosen == []
    assert game.choose(side=24).query == (12, 8) and "brightest 4 up, 8 to the right." in game.said
    assert game.choose(positions="count").query == (12, 8) and "brightest 1 up, 2 to the right." in game.said
    assert (game.rows, game.columns, game.drags) == (24, 24, True)


def test_in_a_round_a_second_click_undoes_and_the_map_is_covered_until_it_is_uncovered():
    game = drag.play().do("next round")
    covered = game.picture
    assert game.click(3).chosen == [3] and game.click(3).chosen == [] and game.click(3, 5).chosen == [5]
    assert game.picture == covered and game.query == (8, 3) and not game.drags
    assert game.do("uncover").picture != covered and len(game.off) == 1
    assert game.click(9).off == game.off, "a call that is made stays"
    game.do("move freely")
    assert (game.round, game.off, game.drags) == (0, [], True)
    other = drag.play()
    assert other.query == (4, 1) and other.round == 0, "two games on a page are two"
