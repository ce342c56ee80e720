"""The page's charts as Vega-Lite specifications; the page's style says what its colors are."""

from typing import Any

BEFORE, AFTER = "var(--before)", "var(--after)"
Rows = list[dict[str, Any]]


def complete(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification as wide as its place, of the rows that are handed to it."""
    return {
        "width": "container",
        "data": {"name": "rows"},
        **spec,
    }


def _tooltip(*fields: tuple[str, str]) -> Rows:
    """Fields with titles; numbers with two digits, absent ones left out."""
    return [{"field": name, "title": title} for name, title in fields]


def _models(height: int) -> dict[str, Any]:
    """A line of so many pixels for each model, in the order of the rows; charts.js adds them up.

    Vega-Lite's own `step` in the height would make it warn of every chart as wide as its place.
    """
    axis = {"title": None, "labelLimit": 150, "ticks": False, "domain": False}
    return {
        "usermeta": {"step": height},
        "encoding": {"y": {"field": "model", "type": "nominal", "sort": None, "axis": axis}},
    }


def _axis(field: str, title: str, **more: Any) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "axis": {"title": title},
        "scale": {"zero": False, "nice": False, "padding": 12},
        **more,
    }


def _where(test: str, mark: dict[str, Any], **encoding: Any) -> dict[str, Any]:
    return {"transform": [{"filter": test}], "mark": mark, "encoding": encoding}


_SCORE = _tooltip(("model", "model"), ("what", "what"), ("score", "score × 100"))
SPREAD = {
    "description": "Score of each model on the original and on every run, and the mean of runs.",
    **_models(36),
    "layer": [
        _where(
            "datum.what == 'mean of runs' && isValid(datum.low)",
            {"type": "rule", "color": AFTER, "strokeWidth": 2},
            x=_axis("low", "score × 100"),
            x2={"field": "high"},
        ),
        _where(
            "datum.what != 'mean of runs' && datum.what != 'original'",
            {"type": "tick", "color": AFTER, "thickness": 1.5, "size": 12, "yOffset": 10},
            x=_axis("score", "score × 100"),
            tooltip=_SCORE,
        ),
        _where(
            "datum.what == 'mean of runs'",
            {"type": "point", "filled": True, "size": 70, "color": AFTER, "opacity": 1},
            x=_axis("score", "score × 100"),
            tooltip=[*_SCORE, *_tooltip(("low", "lower"), ("high", "upper"))],
        ),
        _where(
            "datum.what == 'original'",
            {"type": "point", "size": 110, "color": BEFORE, "strokeWidth": 2, "opacity": 1},
            x=_axis("score", "score × 100"),
            tooltip=_SCORE,
        ),
    ],
}


_WHOLE = "datum.value % 1 === 0 ? datum.label : ''"
"""Labels of whole ranks alone: there is no rank of 1.5."""


def _rank_spec(title: str, description: str) -> dict[str, Any]:
    fields = (("model", "model"), ("what", "texts"), ("rank", "rank"), ("low", "from"),
              ("high", "to"))  # fmt: skip
    x = _axis(
        "rank", title, scale={"zero": False, "nice": False, "reverse": True, "padding": 12}
    ) | {"axis": {"title": title, "tickMinStep": 1, "format": "~g", "labelExpr": _WHOLE}}
    layers = []
    for what, aside, color, mark in (
        ("original", -5, BEFORE, {"size": 90, "strokeWidth": 2}),
        ("reworded", 5, AFTER, {"size": 60, "filled": True}),
    ):
        test = f"datum.what == '{what}'"
        layers.append(
            _where(
                f"{test} && isValid(datum.low)",
                {"type": "rule", "color": color, "strokeWidth": 2, "opacity": 0.55,
                 "yOffset": aside},
                x=x | {"field": "low"},
                x2={"field": "high"},
            )
        )  # fmt: skip
        layers.append(
            _where(
                test,
                {"type": "point", "color": color, "opacity": 1, "yOffset": aside, **mark},
                x=x,
                tooltip=_tooltip(*fields),
            )
        )
    return {"description": description, **_models(34), "layer": layers}


RANKS = _rank_spec(
    "rank, 1 is the best",
    "Rank of each model on the original and on the paraphrases, with intervals.",
)
AVERAGE = _rank_spec(
    "average rank, 1 is the best",
    "Average rank of each model over tasks; bars are half a critical difference to either side.",
)
_COLOR = {
    "field": "model",
    "type": "nominal",
    "sort": None,
    "scale": {"range": [f"var(--line-{number})" for number in range(1, 9)]},
    "legend": {"title": None, "orient": "bottom", "columns": 2, "labelLimit": 140,
               "symbolType": "stroke"},
}  # fmt: skip
_WIDTH_X = _axis("runs", "number of runs") | {"axis": {"title": "number of runs", "tickMinStep": 1}}
_WIDTH_Y = _axis("width", "width of Δ's interval, points", scale={"zero": True, "nice": True})
_WIDTH_TIPS = _tooltip(("model", "model"), ("runs", "runs"), ("width", "width, points"))
WIDTH = {
    "description": "Expected width of Δ's interval against the number of runs.",
    "height": 260,
    "encoding": {"x": _WIDTH_X, "y": _WIDTH_Y, "color": _COLOR, "tooltip": _WIDTH_TIPS},
    "layer": [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "strokeDash": {
                    "field": "dash",
                    "type": "ordinal",
                    "scale": {"domain": [0, 1, 2], "range": [[1, 0], [6, 3], [2, 2]]},
                    "legend": None,
                }
            },
        },
        {
            "transform": [{"filter": "datum.here"}],
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        },
    ],
}
_DRIFT_X: dict[str, Any] = {
    "x": {"field": "kept", "type": "nominal", "sort": None,
          "axis": {"title": "instances whose texts the judge rated", "labelAngle": 0}},
    "xOffset": {"field": "model", "type": "nominal", "sort": None},
    "color": _COLOR,
}  # fmt: skip
DRIFT = {
    "description": "Δ with its interval on only those instances that the judge rated high enough.",
    "height": 260,
    "encoding": _DRIFT_X,
    "layer": [
        _where(
            "isValid(datum.low)",
            {"type": "rule", "strokeWidth": 2},
            y=_axis("low", "Δ, points"),
            y2={"field": "high"},
        ),
        _where(
            "isValid(datum.delta)",
            {"type": "point", "filled": True, "size": 60, "opacity": 1},
            y=_axis("delta", "Δ, points"),
            tooltip=_tooltip(
                ("model", "model"),
                ("kept", "rated"),
                ("delta", "Δ, points"),
                ("low", "lower"),
                ("high", "upper"),
                ("instances", "instances"),
            ),
        ),
        {"mark": {"type": "rule", "color": "var(--soft)", "aria": False},
         "encoding": {"y": {"datum": 0}, "x": None, "xOffset": None, "color": None}},
    ],
}  # fmt: skip
LEVELS = {
    "description": "Accuracy of each model at a level of the implicit suite.",
    **_models(22),
    "layer": [
        _where(
            f"datum.source == '{source}'",
            {"type": "point", "filled": filled, "size": 80, "color": color, "opacity": 1},
            x=_axis("score", "accuracy × 100"),
            tooltip=_tooltip(("model", "model"), ("source", "source"), ("score", "accuracy × 100")),
        )
        for source, filled, color in (("this run", True, AFTER), ("published", False, BEFORE))
    ],
}
