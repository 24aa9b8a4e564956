package sandbox

// RunningCount returns how many projects have a server that alive vouches for. It is always counted, never kept: a number that is raised and lowered by
// hand drifts (opencode contract §8.7).
func RunningCount(s State, alive func(Server) bool) (count int) {
	for _, p := range s.Projects {
		if alive(p.Server) {
			count++
		}
	}
	return count
}

// StatusNow returns the server's status towards users, from what is recorded and whether its process lives (opencode contract §8.5): what lives runs, what
// does not has failed when that was recorded, and else is stopped.
func (s Server) StatusNow(alive bool) Status {
	switch {
	case alive:
		return Running
	case s.Status == Failed:
		return Failed
	}
	return Stopped
}
