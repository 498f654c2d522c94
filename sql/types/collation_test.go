package types

import (
	"testing"

	"streamlab/errs"
)

func TestCollationOf(t *testing.T) {
	for name, want := range map[string]string{"utf8_binary": "UTF8_BINARY", "Utf8_Lcase_Rtrim": "UTF8_LCASE_RTRIM", "unicode_rtrim_ci": "UNICODE_CI_RTRIM",
		"DE": "de", "en_usa_ai_ci": "en_USA_CI_AI", "UNICODE_CS_AS": "UNICODE", "sr_cyrl": "sr_Cyrl"} {
		if c, err := CollationOf(name); err != nil || c.Name != want {
			t.Errorf("%s: %q, %v, want %s", name, c.Name, err, want)
		}
	}
	for name, want := range map[string]string{"NOPE": "ne, no", "NOSUCH": "no", "UTF8_LCASE_CI": "UTF8_LCASE", "UNICODE_CI_CS": "UNICODE_CS",
		"UNICODE_CI_CI": "UNICODE_CI", "en_XX": "en", "UNICOD": "UNICODE", "": "af, am, ar"} {
		_, err := CollationOf(name)
		if e := errs.As(err); e == nil || e.Condition != "COLLATION_INVALID_NAME" || e.Params["proposals"] != want {
			t.Errorf("%q: %v, want proposals %s", name, err, want)
		}
	}
}
