"""Tools for operators of a running deployment: audit, snapshots, explanations, rejections, watching, schemas."""
