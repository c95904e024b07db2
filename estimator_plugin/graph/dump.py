"""Readable files of a modified graph: before, after, and what moved."""

import os

import tensorflow as tf

DIRECTORY = "export_graph"


def write_graph(name, graph_def):
    """Writes `graph_def` as text into export_graph/<name>.pbtxt of the working directory."""
    tf.io.write_graph(graph_def, DIRECTORY, name + ".pbtxt", as_text=True)


def write_pipeline(pipeline):
    """Writes what moved: a graph for each iterator, and a summary of all."""
    lines = []
    for part in pipeline.cuts:
        name = part.get_next.name.replace("/", "_")
        write_graph("cut_graph_" + name, part.graph_def())
        lines.append("Into the dataset of %s:" % part.get_next.name)
        lines += ["    %s (%s)" % (op.name, op.type) for op in part.moved]
        lines.append("Read from there by the training step:")
        lines += ["    %s %s %s" % (t.name, t.dtype.name, t.shape) for t in part.outputs]
    lines += ["What stayed:"] + ["    " + line for line in pipeline.stayed or ["nothing"]]
    with open(os.path.join(DIRECTORY, "summary.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
