package packfile

import "time"

// Later makes the store take what files say of their times for long past, however young they are.
func (s *Store) Later() { s.today = func() time.Time { return time.Now().Add(time.Hour) } }
