//go:build !unix

package admincmd

import "os"

// watched are the signals that the view hears: none here.
func watched() []os.Signal { return []os.Signal{} }

func resized(os.Signal) bool { return false }

func stopProcess() {}
