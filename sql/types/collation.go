package types

import (
	"sort"
	"strings"

	"streamlab/errs"
)

// A Collation says how texts are compared. The zero value is UTF8_BINARY, byte by byte. Names are
// UTF8_BINARY or UTF8_LCASE, each perhaps with _RTRIM, or UNICODE or a locale, perhaps with _CI (upper and
// lower case are equal), _AI (accents do not count) and _RTRIM (nor do blanks at the end).
type Collation struct {
	Name    string // canonical
	Lower   bool   // UTF8_LCASE
	Locale  string // as in locales; "" for UTF8_BINARY and UTF8_LCASE
	NoCase  bool
	NoMarks bool
	Trim    bool
}

// A CollationLocale is what a collation may be named by, with what Spark says of it.
type CollationLocale struct{ Name, Language, Country string }

// CollationLocales are the locales of collations, sorted by name, UNICODE first.
var CollationLocales = []CollationLocale{
	{"UNICODE", "", ""}, {"af", "Afrikaans", ""}, {"am", "Amharic", ""}, {"ar", "Arabic", ""},
	{"ar_SAU", "Arabic", "Saudi Arabia"}, {"as", "Assamese", ""}, {"az", "Azerbaijani", ""},
	{"be", "Belarusian", ""}, {"bg", "Bulgarian", ""}, {"blo", "Anii", ""}, {"bn", "Bangla", ""},
	{"bo", "Tibetan", ""}, {"br", "Breton", ""}, {"bs", "Bosnian", ""}, {"bs_Cyrl", "Bosnian", ""},
	{"ca", "Catalan", ""}, {"ceb", "Cebuano", ""}, {"chr", "Cherokee", ""}, {"cs", "Czech", ""},
	{"cy", "Welsh", ""}, {"da", "Danish", ""}, {"de", "German", ""},
	{"de_AUT", "German", "Austria"}, {"dsb", "Lower Sorbian", ""}, {"dz", "Dzongkha", ""},
	{"ee", "Ewe", ""}, {"el", "Greek", ""}, {"en", "English", ""},
	{"en_USA", "English", "United States"}, {"eo", "Esperanto", ""}, {"es", "Spanish", ""},
	{"et", "Estonian", ""}, {"fa", "Persian", ""}, {"fa_AFG", "Persian", "Afghanistan"},
	{"ff", "Fula", ""}, {"ff_Adlm", "Fula", ""}, {"fi", "Finnish", ""}, {"fil", "Filipino", ""},
	{"fo", "Faroese", ""}, {"fr", "French", ""}, {"fr_CAN", "French", "Canada"},
	{"fy", "Western Frisian", ""}, {"ga", "Irish", ""}, {"gl", "Galician", ""},
	{"gu", "Gujarati", ""}, {"ha", "Hausa", ""}, {"haw", "Hawaiian", ""}, {"he", "Hebrew", ""},
	{"he_ISR", "Hebrew", "Israel"}, {"hi", "Hindi", ""}, {"hr", "Croatian", ""},
	{"hsb", "Upper Sorbian", ""}, {"hu", "Hungarian", ""}, {"hy", "Armenian", ""},
	{"id", "Indonesian", ""}, {"id_IDN", "Indonesian", "Indonesia"}, {"ig", "Igbo", ""},
	{"is", "Icelandic", ""}, {"it", "Italian", ""}, {"ja", "Japanese", ""}, {"ka", "Georgian", ""},
	{"kk", "Kazakh", ""}, {"kk_Arab", "Kazakh", ""}, {"kl", "Kalaallisut", ""}, {"km", "Khmer", ""},
	{"kn", "Kannada", ""}, {"ko", "Korean", ""}, {"kok", "Konkani", ""}, {"ku", "Kurdish", ""},
	{"ky", "Kyrgyz", ""}, {"lb", "Luxembourgish", ""}, {"lij", "Ligurian", ""},
	{"lkt", "Lakota", ""}, {"ln", "Lingala", ""}, {"lo", "Lao", ""}, {"lt", "Lithuanian", ""},
	{"lv", "Latvian", ""}, {"mk", "Macedonian", ""}, {"ml", "Malayalam", ""},
	{"mn", "Mongolian", ""}, {"mr", "Marathi", ""}, {"ms", "Malay", ""}, {"mt", "Maltese", ""},
	{"my", "Burmese", ""}, {"nb", "Norwegian Bokmål", ""}, {"nb_NOR", "Norwegian Bokmål", "Norway"},
	{"ne", "Nepali", ""}, {"nl", "Dutch", ""}, {"nn", "Norwegian Nynorsk", ""},
	{"no", "Norwegian", ""}, {"nso", "Northern Sotho", ""}, {"om", "Oromo", ""}, {"or", "Odia", ""},
	{"pa", "Punjabi", ""}, {"pa_Guru", "Punjabi", ""}, {"pa_Guru_IND", "Punjabi", "India"},
	{"pl", "Polish", ""}, {"ps", "Pashto", ""}, {"pt", "Portuguese", ""}, {"ro", "Romanian", ""},
	{"ru", "Russian", ""}, {"sa", "Sanskrit", ""}, {"se", "Northern Sami", ""},
	{"si", "Sinhala", ""}, {"sk", "Slovak", ""}, {"sl", "Slovenian", ""}, {"smn", "Inari Sami", ""},
	{"sq", "Albanian", ""}, {"sr", "Serbian", ""}, {"sr_Cyrl", "Serbian", ""},
	{"sr_Cyrl_BIH", "Serbian", "Bosnia & Herzegovina"}, {"sr_Cyrl_MNE", "Serbian", "Montenegro"},
	{"sr_Cyrl_SRB", "Serbian", "Serbia"}, {"sr_Latn", "Serbian", ""},
	{"sr_Latn_BIH", "Serbian", "Bosnia & Herzegovina"}, {"sr_Latn_SRB", "Serbian", "Serbia"},
	{"st", "Southern Sotho", ""}, {"sv", "Swedish", ""}, {"sw", "Swahili", ""}, {"ta", "Tamil", ""},
	{"te", "Telugu", ""}, {"th", "Thai", ""}, {"tk", "Turkmen", ""}, {"tn", "Tswana", ""},
	{"to", "Tongan", ""}, {"tr", "Turkish", ""}, {"ug", "Uyghur", ""}, {"uk", "Ukrainian", ""},
	{"ur", "Urdu", ""}, {"uz", "Uzbek", ""}, {"vi", "Vietnamese", ""}, {"wae", "Walser", ""},
	{"wo", "Wolof", ""}, {"xh", "Xhosa", ""}, {"yi", "Yiddish", ""}, {"yo", "Yoruba", ""},
	{"zh", "Chinese", ""}, {"zh_Hans", "Chinese", ""}, {"zh_Hans_CHN", "Chinese", "China"},
	{"zh_Hans_SGP", "Chinese", "Singapore"}, {"zh_Hant", "Chinese", ""},
	{"zh_Hant_HKG", "Chinese", "Hong Kong SAR China"},
	{"zh_Hant_MAC", "Chinese", "Macao SAR China"}, {"zh_Hant_TWN", "Chinese", "Taiwan"},
	{"zu", "Zulu", ""},
}

// CollationOf finds a collation by its name in any case; COLLATION_INVALID_NAME proposes names that are near.
func CollationOf(name string) (Collation, error) {
	c, ok := parseCollation(name)
	if !ok {
		return c, errs.New("COLLATION_INVALID_NAME", "collationName", name, "proposals", collationProposals(name))
	}
	return c, nil
}

func parseCollation(name string) (Collation, bool) {
	up := strings.ToUpper(name)
	for _, base := range [...]string{"UTF8_BINARY", "UTF8_LCASE"} {
		if rest, ok := strings.CutPrefix(up, base); ok && (rest == "" || rest == "_RTRIM") {
			return Collation{Name: up, Lower: base == "UTF8_LCASE", Trim: rest != ""}, true
		}
	}
	var c Collation
	for _, l := range CollationLocales {
		if n := len(l.Name); strings.HasPrefix(up, strings.ToUpper(l.Name)) && (len(up) == n || up[n] == '_') && n > len(c.Locale) {
			c.Locale = l.Name
		}
	}
	if c.Locale == "" {
		return c, false
	}
	var modified, marked bool
	for _, m := range strings.Split(up[len(c.Locale):], "_")[1:] {
		switch m {
		case "CI", "CS":
			if modified {
				return c, false
			}
			modified, c.NoCase = true, m == "CI"
		case "AI", "AS":
			if marked {
				return c, false
			}
			marked, c.NoMarks = true, m == "AI"
		case "RTRIM":
			if c.Trim {
				return c, false
			}
			c.Trim = true
		default:
			return c, false
		}
	}
	c.Name = c.Locale
	for _, m := range [...]struct {
		on   bool
		text string
	}{{c.NoCase, "_CI"}, {c.NoMarks, "_AI"}, {c.Trim, "_RTRIM"}} {
		if m.on {
			c.Name += m.text
		}
	}
	return c, true
}

// Binary reports whether texts that are equal have equal bytes.
func (c Collation) Binary() bool { return !c.Lower && c.Locale == "" && !c.Trim }

// collationProposals are the names nearest to one that is wrong, as Spark finds them.
func collationProposals(name string) string {
	up := strings.ToUpper(name)
	roots, suffixes := []string{"UTF8_BINARY", "UTF8_LCASE"}, []string{"_RTRIM"}
	if !strings.HasPrefix(name, "UTF8_") {
		roots, suffixes = nil, []string{"_CI", "_AI", "_CS", "_AS", "_RTRIM"}
		for _, l := range CollationLocales {
			roots = append(roots, l.Name)
		}
	}
	var mods []string
	for again := true; again; {
		again = false
		for _, s := range suffixes {
			if rest, ok := strings.CutSuffix(up, s); ok {
				up, mods, again = rest, append([]string{s}, mods...), true
				break
			}
		}
	}
	has := func(m string) bool {
		for _, x := range mods {
			if x == m {
				return true
			}
		}
		return false
	}
	tail, seen := "", map[string]bool{}
	for _, m := range mods {
		if seen[m] || m == "_CI" && has("_CS") || m == "_AI" && has("_AS") {
			continue
		}
		seen[m] = true
		tail += m
	}
	distance := make(map[string]int, len(roots))
	for _, r := range roots {
		distance[r] = editDistance(strings.ToUpper(r), up)
	}
	sort.SliceStable(roots, func(i, j int) bool { return distance[roots[i]] < distance[roots[j]] })
	var out []string
	for i, r := range roots[:min(3, len(roots))] {
		if i > 0 && distance[r] >= 3 {
			break
		}
		out = append(out, r+tail)
	}
	return strings.Join(out, ", ")
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
