package lab

// refusals is the table of what is refused and of the ways out.
func refusals() []refusal {
	return []refusal{
		{"STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "no streaming aggregations",
			"Complete sends the whole result of an aggregation in every micro-batch. This query aggregates nothing: its result would be every row that ever came, and nothing keeps them.",
			[]recipe{useMode("append"), useMode("update")}},
		{"STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "without watermark",
			"Append sends a row once and never changes it. These groups can still grow, because nothing says when one is finished.",
			[]recipe{useMode("complete"), useMode("update")}},
		{"STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "session window",
			"A late row may join two sessions that update mode has sent already, and no row could take them back.",
			[]recipe{useMode("append"), useMode("complete")}},
		{"STREAMING_OUTPUT_MODE.INVALID", "", "There are three output modes: append, update and complete.",
			[]recipe{useMode("append"), useMode("update"), useMode("complete")}},
		{"STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE", "",
			"The sink cannot take back rows that it has written, as this mode asks for.",
			[]recipe{useMode("append")}},
	}
}

var modeText = map[string]string{
	"append":   "sends a row once, when it cannot change any more",
	"update":   "sends the rows that a micro-batch touched, again and again",
	"complete": "sends the whole result in every micro-batch",
}

func useMode(mode string) recipe {
	return one("use "+mode, modeText[mode], func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		return t.p.setKey(t.q.node, "outputMode", mode)
	})
}
