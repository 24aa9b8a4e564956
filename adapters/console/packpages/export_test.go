package packpages

// Ahead returns how many bytes of text are looked at before they are taken.
func Ahead(language, text string) int { return scan(language, text).ahead }
