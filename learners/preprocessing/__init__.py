"""Preprocessing of rows before the learner: standardiser, scaler, imputer, feature maps."""
