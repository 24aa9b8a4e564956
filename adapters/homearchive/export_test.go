package homearchive

// Reached has told called at every step of a restore.
func (a *Archive) Reached(told func(at string)) { a.reached = told }
