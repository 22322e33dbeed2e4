"""What a row passes before its learner: standardiser, scaler, imputer, feature maps."""
