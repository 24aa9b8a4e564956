package wire

// stepNumber takes a byte of a number, or the byte after it.
func (s *scanner) stepNumber(b byte, at int) status {
	digit := b >= '0' && b <= '9'
	switch s.state {
	case numMinus:
		switch {
		case b == '0':
			s.state = numZero
		case digit:
			s.state = numInt
		default:
			return wrong
		}
		return more
	case numPoint, numSign:
		if !digit {
			return wrong
		}
		s.state++ // numFrac, numPower
		return more
	case numExp:
		switch {
		case b == '+' || b == '-':
			s.state = numSign
		case digit:
			s.state = numPower
		default:
			return wrong
		}
		return more
	}
	switch {
	case digit && s.state != numZero:
		return more
	case b == '.' && (s.state == numZero || s.state == numInt):
		s.state = numPoint
		return more
	case (b == 'e' || b == 'E') && s.state != numPower:
		s.state = numExp
		return more
	}
	return s.endNumber(b, at)
}

// endNumber ends a number at the byte b behind it, and takes b as what follows a value.
func (s *scanner) endNumber(b byte, at int) status {
	if s.inID() && s.depth == 1 && len(s.id) > 0 {
		s.id = s.id[:len(s.id)-1] // b was kept before it was known not to belong to it
	}
	s.ended(at)
	if b == ' ' || b == '\t' || b == '\n' || b == '\r' {
		return more
	}
	return s.next(b, at)
}
