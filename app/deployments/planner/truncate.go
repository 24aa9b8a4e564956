package planner

import "encoding/json"

// AnswerOverhead is the size of an answer without its lists, in bytes.
const AnswerOverhead = 16 << 10

// FitJSON returns as much of a list as fits limit bytes as JSON, and how many items are left out. A limit of 0 or less is none: the caller's limit
// bounds lists, never the shape of an answer.
func FitJSON[T any](list []T, limit int) (shown []T, omitted int) {
	if limit <= 0 {
		return list, 0
	}
	for i, item := range list {
		text, err := json.Marshal(item)
		if limit -= len(text) + 1; err == nil && limit < 0 {
			return list[:i], len(list) - i
		}
	}
	return list, 0
}
