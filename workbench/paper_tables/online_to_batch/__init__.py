"""`--table online-to-batch`: the experiments of Tao and Lu."""
