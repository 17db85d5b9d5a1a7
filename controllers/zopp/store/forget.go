package store

// Forget drops the key of an environment that is no longer read.
func (s *Store) Forget(environment Environment) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forget(environment)
}
