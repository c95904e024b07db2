"""Line charts as SVG text, side by side, with no library."""

import collections

import numpy as np

# A title, the x of all points, and an ordered dict from the name of a line to its y values.
Panel = collections.namedtuple("Panel", ["title", "x", "lines"])

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 64, 44
COLOURS = ("#888888", "#1565c0", "#ef6c00")
TICKS = 5


def svg(panels, x_title):
    """The text of an SVG file that shows `panels` from left to right."""
    body = []
    for i, panel in enumerate(panels):
        body.append('<g transform="translate(%d,0)">' % (i * WIDTH))
        body += _panel(panel, x_title) + ["</g>"]
    size = 'width="%d" height="%d" viewBox="0 0 %d %d"' % ((WIDTH * len(panels), HEIGHT) * 2)
    head = '<svg xmlns="http://www.w3.org/2000/svg" %s font-family="sans-serif">' % size
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>'] + body + ["</svg>"])


def _panel(panel, x_title):
    top = _round_up(max(max(values) for values in panel.lines.values()))
    last = float(panel.x[-1])
    parts = [_text(WIDTH / 2, 18, panel.title, size=14, anchor="middle")]
    for i in range(TICKS + 1):
        x, y = _x(i / TICKS), _y(i / TICKS)
        parts.append(_line(_x(0), y, _x(1), y, "#dddddd"))
        parts.append(_text(LEFT - 6, y + 4, "%g" % (top * i / TICKS), anchor="end"))
        parts.append(_text(x, HEIGHT - BOTTOM + 16, "%.0f" % (last * i / TICKS), anchor="middle"))
    parts.append(_text((_x(0) + _x(1)) / 2, HEIGHT - 8, x_title, anchor="middle"))
    for i, (name, values) in enumerate(panel.lines.items()):
        points = zip(_x(np.asarray(panel.x) / last), _y(np.asarray(values) / top))
        path = " ".join("%.1f,%.1f" % point for point in points)
        parts.append('<polyline fill="none" stroke="%s" points="%s"/>' % (COLOURS[i], path))
        parts.append(_line(LEFT, 28 + 12 * i, LEFT + 18, 28 + 12 * i, COLOURS[i]))
        parts.append(_text(LEFT + 24, 32 + 12 * i, name))
    return parts


def _x(share):
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share):
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _round_up(value):
    """The next of 1, 2, 5, 10, 20, ... times `TICKS` that `value` is not above."""
    scale = TICKS
    while True:
        for step in (1, 2, 5):
            if step * scale >= value:
                return step * scale
        scale *= 10


def _text(x, y, text, size=11, anchor="start"):
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s">%s</text>' % (
        x,
        y,
        size,
        anchor,
        text,
    )


def _line(x1, y1, x2, y2, colour):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>' % (x1, y1, x2, y2, colour)
