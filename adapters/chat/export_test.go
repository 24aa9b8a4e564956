package chat

// Subset is subset, for tests.
var Subset = subset
