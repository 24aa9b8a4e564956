package target

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrText is text that a form cannot hold or be read from; its message says what is in the way.
var ErrText = fault.New(fault.Invalid, "deployment_form_invalid", "the text cannot be written in the agent's form")

// CommandToTOML is a TOML command out of Markdown: its frontmatter's description, and what stands behind the frontmatter as the prompt. It
// fails with ErrText on text that is not UTF-8.
func CommandToTOML(markdown []byte) ([]byte, error) {
	if !utf8.Valid(markdown) {
		return nil, ErrText.Sayf("a TOML command has to be valid UTF-8, and the text is not")
	}
	head, body := split(string(markdown))
	var b strings.Builder
	if text := description(head); text != "" {
		b.WriteString("description = " + basic(text) + "\n")
	}
	b.WriteString("prompt = " + multiline(toGemini(body)) + "\n")
	return []byte(b.String()), nil
}

// The words of commands: what is written in modules, which is what Claude Code reads, and what Gemini CLI does.
const (
	arguments       = "$ARGUMENTS"
	geminiArguments = "{{args}}"
)

// toGemini is a command's text with its placeholder for arguments, and the commands of a shell that it runs, in the words of Gemini CLI. What Gemini
// CLI has no words for stays as it is.
func toGemini(text string) string {
	text = strings.ReplaceAll(text, arguments, geminiArguments)
	return regexp.MustCompile("(?m)(^|[^\\w$])!`([^`\n{}]+)`").ReplaceAllString(text, "${1}!{${2}}")
}

// fromGemini is the way back, for a text that came from original: what stood there in the words of Gemini CLI already stays so.
func fromGemini(original, text string) string {
	if !strings.Contains(original, geminiArguments) {
		text = strings.ReplaceAll(text, geminiArguments, arguments)
	}
	if !strings.Contains(original, "!{") {
		text = regexp.MustCompile("(?m)(^|[^\\w$])!\\{([^`\n{}]+)\\}").ReplaceAllString(text, "${1}!`${2}`")
	}
	return text
}

// CommandFromTOML is the Markdown whose command toml is: the frontmatter of original, and toml's prompt. It fails with ErrText when toml is
// no command that Command could have written, or when its description changed, because frontmatter is not rewritten.
func CommandFromTOML(original, toml []byte) ([]byte, error) {
	values, err := parse(string(toml))
	if err != nil {
		return nil, err
	}
	prompt, ok := values["prompt"]
	if !ok {
		return nil, ErrText.Sayf("the command has no prompt; put it back")
	}
	head, was := split(string(original))
	if values["description"] != description(head) {
		return nil, ErrText.Sayf("the description of the command was changed; change it in the module's frontmatter")
	}
	for key := range values {
		if key != "prompt" && key != "description" {
			return nil, ErrText.Sayf("the command has the key %q, for which Markdown has no place", key)
		}
	}
	body := fromGemini(was, prompt)
	if again, read := split(head + body); again != head || read != body {
		return nil, ErrText.Sayf("the prompt begins with what would be read as frontmatter, or as blank lines after it")
	}
	if toGemini(body) != prompt {
		return nil, ErrText.Sayf("the prompt has placeholders or shell commands that commands in Markdown cannot say")
	}
	return []byte(head + body), nil
}
