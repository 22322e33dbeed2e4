"""Tools for operators: checks, audit, snapshots, plans of models, explanations, rejections, watching, schemas."""
