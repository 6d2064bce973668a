"""What each lesson's result files came from: a script a result, named after the first lesson that reads it."""
