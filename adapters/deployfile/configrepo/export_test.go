package configrepo

// Limited is f with another limit than MaxFiles, so that tests need not make that many.
func (f *Files) Limited(n int) *Files { return &Files{index: f.index, limit: n} }
