package sandbox

// RunningCount returns how many projects have a server that alive vouches for, be it of a sandbox alone. It is always counted, never kept: a number that is raised and lowered by
// hand drifts (opencode contract §8.7).
func RunningCount(s State, alive func(Server) bool) (count int) {
	for _, p := range s.Projects {
		for _, s := range p.Servers() {
			if alive(s) {
				count++
				break
			}
		}
	}
	return count
}

// StatusNow returns the server's status for users, from its record and whether its process lives (opencode contract §8.5): a live one is running, any
// other is failed if that was recorded, else stopped.
func (s Server) StatusNow(alive bool) Status {
	switch {
	case alive:
		return Running
	case s.Status == Failed:
		return Failed
	}
	return Stopped
}
