package screen

import "streamlab/internal/safe"

// A Form asks for a few things at once.
type Form struct {
	Title  safe.Line
	Fields []Field
	Verb   safe.Line // what Enter does: "export"
	Done   func(values []string) Effect
}

// A Field of a Form: a text, or one of a few choices.
type Field struct {
	Label   safe.Line
	Text    string   // the text, or the choice, at the start
	Choices []string // nil: free text
	// Follow changes Text when another field does: the end of a path follows the format. It gets all
	// values and gives the new text; nil: nothing follows.
	Follow func(values []string) string
}

// A Menu lets the user choose one of a few things, by digit or with the cursor.
type Menu struct {
	Title safe.Line
	Items []MenuItem
	Done  func(i int) Effect
	// Remove takes an item away (the key delete, after a question); nil: items stay.
	Remove func(i int) Effect
}

// A MenuItem is a line of a Menu.
type MenuItem struct{ Label, Note safe.Line }

// An Outside is a program that takes the terminal for a while: the user's editor.
type Outside struct {
	Path string // of the file to edit
	Line int    // from 1 on
	// Done is called after the program has ended and the terminal is ours again.
	Done func(err error) Effect
}
