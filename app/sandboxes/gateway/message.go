package gateway

import (
	"encoding/json"
	"strings"
)

// The shown length of a single message's text, and of each text in a list.
const (
	maxText   = 64 << 10
	maxListed = 8 << 10
)

// Message is a message of a session in short form: what was said and done, without the output of tools.
type Message struct {
	ID     string    `json:"id"`
	Role   string    `json:"role"`
	Model  string    `json:"model,omitempty"`
	Text   string    `json:"text"`
	Cut    bool      `json:"cut,omitempty"` // the text is truncated; full returns all of it
	Tools  []ToolUse `json:"tools,omitempty"`
	Finish string    `json:"finish,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// ToolUse is an agent's use of a tool.
type ToolUse struct {
	Tool   string `json:"tool"`
	Status string `json:"status"`
	Title  string `json:"title,omitempty"`
	Error  string `json:"error,omitempty"`
}

// source is a message in opencode's format (opencode contract §16).
type source struct {
	Info *struct {
		ID       string `json:"id"`
		Role     string `json:"role"`
		Model    string `json:"modelID"`
		Provider string `json:"providerID"`
		Finish   string `json:"finish"`
		Error    *struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
			} `json:"data"`
		} `json:"error"`
	} `json:"info"`
	Parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Tool  string `json:"tool"`
		State struct {
			Status string `json:"status"`
			Title  string `json:"title"`
			Error  string `json:"error"`
		} `json:"state"`
	} `json:"parts"`
}

// messageOf converts a message of an answer; ok is false for anything else, which is then shown unchanged.
func messageOf(body json.RawMessage) (m Message, ok bool) {
	var s source
	if json.Unmarshal(body, &s) != nil || s.Info == nil {
		return Message{}, false
	}
	return s.message(maxText), true
}

// messagesOf converts the messages of an answer.
func messagesOf(body json.RawMessage) (all []Message, ok bool) {
	var list []source
	if json.Unmarshal(body, &list) != nil {
		return nil, false
	}
	all = make([]Message, 0, len(list))
	for _, s := range list {
		if s.Info == nil {
			return nil, false
		}
		all = append(all, s.message(maxListed))
	}
	return all, true
}

func (s source) message(most int) Message {
	m := Message{ID: s.Info.ID, Role: s.Info.Role, Finish: s.Info.Finish}
	if s.Info.Model != "" {
		m.Model = s.Info.Provider + "/" + s.Info.Model
	}
	if e := s.Info.Error; e != nil {
		m.Error = strings.TrimPrefix(e.Name+": "+e.Data.Message, ": ")
	}
	var text []string
	for _, p := range s.Parts {
		switch p.Type {
		case "text":
			text = append(text, p.Text)
		case "tool":
			m.Tools = append(m.Tools, ToolUse{p.Tool, p.State.Status, p.State.Title, p.State.Error})
		}
	}
	m.Text = strings.Join(text, "\n\n")
	if len(m.Text) > most {
		m.Text, m.Cut = strings.ToValidUTF8(m.Text[:most], ""), true
	}
	return m
}
