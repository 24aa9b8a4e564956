package target

import (
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// skillName returns the name of a prompt as a skill: that of its file, in lower-case letters, digits and dashes, which every agent accepts.
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

// promptSkills returns the names, by identifier, of prompts as skills: all differ, and none is that of a skill. They are the same for all agents,
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

// PromptHeader returns the frontmatter of a prompt that is written as a skill, with the blank line after it: only users call it.
func PromptHeader(name string, prompt []byte) string {
	head, _ := split(string(prompt))
	about := description(head)
	if about == "" {
		about = "The prompt " + name + ", for when somebody asks for it by name"
	}
	return "---\nname: " + name + "\ndescription: " + quote(about) + "\ndisable-model-invocation: true\n---\n\n"
}

// PromptToSkill returns the prompt after that header, instead of its own frontmatter.
func PromptToSkill(name string, prompt []byte) []byte {
	_, body := split(string(prompt))
	return WrapHeader(PromptHeader(name, prompt), []byte(body))
}

// PromptFromSkill returns the prompt of a skill: the frontmatter of original, and the skill's text. It is false if the skill's frontmatter is not the
// generated one.
func PromptFromSkill(name string, original, skill []byte) ([]byte, bool) {
	head, body := split(string(original))
	text, ok := UnwrapHeader(PromptHeader(name, original), []byte(body), skill)
	if again, read := split(head + string(text)); !ok || again != head || read != string(text) {
		return nil, false
	}
	return append([]byte(head), text...), true
}
