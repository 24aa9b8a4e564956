package target

import (
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// skillName is what a prompt is called as a skill: the name of its file, in the small letters, digits and dashes that every agent takes.
func skillName(file string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(stem(path.Base(file))) {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	if name := strings.TrimSuffix(b.String(), "-"); name != "" {
		return name[:min(len(name), 64)]
	}
	return "prompt"
}

// promptSkills are the names, by identifier, that prompts have as skills: none is another one's, nor that of a skill. They are the same for all agents,
// because some share a directory.
func promptSkills(all []Module, n Paths) map[string]string {
	taken, names := map[string]bool{}, map[string]string{}
	for _, m := range all {
		if dir, err := skillDir(m.Module, n); err == nil && m.Type == deployment.ModuleSkill {
			taken[strings.ToLower(dir)] = true
		}
	}
	files := map[string]string{} // equal names of files are equal names of skills, so that equal prompts are one and different ones a conflict
	for _, m := range all {
		if m.Type != deployment.ModulePrompt || len(m.Tree) != 1 {
			continue
		}
		file := path.Base(m.Tree[0].Path)
		if files[file] == "" {
			name := skillName(file)
			if taken[name] {
				name += "-prompt"
			}
			for i, base := 2, name; taken[name]; i++ {
				name = base + "-" + strconv.Itoa(i)
			}
			taken[name], files[file] = true, name
		}
		names[m.ID] = files[file]
	}
	return names
}

// PromptHeader is the frontmatter of a prompt that is written as a skill, with the blank line behind it: only people call it.
func PromptHeader(name string, prompt []byte) string {
	head, _ := split(string(prompt))
	about := description(head)
	if about == "" {
		about = "The prompt " + name + ", for when somebody asks for it by name"
	}
	return "---\nname: " + name + "\ndescription: " + quote(about) + "\ndisable-model-invocation: true\n---\n\n"
}

// PromptToSkill is the prompt behind that header, instead of its own frontmatter.
func PromptToSkill(name string, prompt []byte) []byte {
	_, body := split(string(prompt))
	return WrapHeader(PromptHeader(name, prompt), []byte(body))
}

// PromptFromSkill is the prompt whose skill that is: the frontmatter of original, and the skill's text. It is false where the skill's frontmatter is not
// the one that is generated.
func PromptFromSkill(name string, original, skill []byte) ([]byte, bool) {
	head, body := split(string(original))
	text, ok := UnwrapHeader(PromptHeader(name, original), []byte(body), skill)
	if again, read := split(head + string(text)); !ok || again != head || read != string(text) {
		return nil, false
	}
	return append([]byte(head), text...), true
}
