package expr

import (
	"fmt"
	"strings"
	"sync"

	"streamlab/sql/types"
)

// What a parameter takes. Most builders ask for an implicit cast and so take whatever has one; the functions of
// inputTable are narrower (those of Spark that extend ExpectsInputTypes alone cast nothing), or Spark states their
// parameters, or calls them, in words of its own. The letters of an accepted type:
//
//	s STRING  i TINYINT, SMALLINT, INT  l BIGINT  d FLOAT, DOUBLE  D DECIMAL  a DATE  t TIMESTAMP  n TIMESTAMP_NTZ
//	b BINARY  B BOOLEAN  A ARRAY  M MAP  S STRUCT  N VOID  I an ANSI interval  T TIME
type input struct {
	required string // as the error names it
	accepts  string
}

const (
	castsToNumber = "sildDN"        // what casts to a number
	castsToText   = "sildDatnbBNIT" // what casts to STRING
)

var inputKinds = map[byte]input{
	'd': {`"DOUBLE"`, castsToNumber},
	's': {`"STRING"`, castsToText},
	'S': {`"STRING"`, "sN"},
	'i': {`"INT"`, castsToNumber},
	'I': {`"INT"`, "iN"},
	'1': {`"INT"`, "i"},
	'l': {`"BIGINT"`, castsToNumber},
	'L': {`("INT" or "BIGINT")`, castsToNumber},
	'g': {`("INT" or "BIGINT")`, "ilN"},
	'n': {`"NUMERIC"`, castsToNumber},
	'N': {`"NUMERIC"`, "ildDN"},
	'G': {`"INTEGRAL"`, "ilN"},
	'e': {`"DECIMAL"`, castsToNumber},
	'6': {`"DECIMAL(16,6)"`, castsToNumber},
	'c': {`("DOUBLE" or "DECIMAL" or "BIGINT")`, castsToNumber},
	'f': {`("DOUBLE" or "FLOAT")`, castsToNumber},
	'w': {`("DOUBLE" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`, castsToNumber + "I"},
	'm': {`("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH")`, castsToNumber + "I"},
	'p': {`"DATE"`, "aN"},
	't': {`"TIMESTAMP"`, "tN"},
	'h': {`"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"`, "satnNT"},
	'y': {`("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ")`, castsToText},
	'Y': {`("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "NUMERIC")`, castsToText},
	'u': {`("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ")`, "satnN"},
	'V': {`"VARIANT"`, "N"},
	'T': {`"TIME"`, "NT"},
	'b': {`"BINARY"`, "sbN"},
	'B': {`"BINARY"`, "b"},
	'k': {`("STRING" or "BINARY" or "ARRAY")`, castsToText + "A"},
	'j': {`"ARRAY<STRING>"`, "AN"},
	'x': {`("ARRAY" or "MAP")`, "AM"},
	'z': {`("INT" or "STRING")`, "siN"},
	'q': {`"BOOLEAN"`, "BN"},
	'.': {},
}

// inputTable has a line for each call: the functions, with the name that errors show behind =, a colon, a letter for
// each parameter, and behind | the defaults that errors show after the arguments. Functions of several numbers of
// arguments have several lines.
const inputTable = `
acos=ACOS acosh=ACOSH asin=ASIN asinh=ASINH atan=ATAN atanh=ATANH cbrt=CBRT cos=COS cosh=COSH cot=COT csc=CSC : d
degrees=DEGREES exp=EXP expm1=EXPM1 log10=LOG10 log1p=LOG1P log2=LOG2 radians=RADIANS sec=SEC sin=SIN sinh=SINH : d
sqrt=SQRT tan=TAN tanh=TANH kurtosis skewness std stddev stddev_pop stddev_samp var_pop var_samp variance : d
atan2=ATAN2 hypot=HYPOT power=POWER log=LOG corr covar_pop covar_samp : d d
regr_intercept regr_slope regr_r2 regr_sxx regr_sxy regr_syy : d d
regr_avgx regr_avgy regr_count : n n
sign signum=SIGNUM : w
isnan : f
nanvl : f f
median : m
width_bucket : w w w l
ceil=CEIL ceiling floor=FLOOR : c
ceil ceiling floor : e .
bit_and bit_or bit_xor timestamp_micros timestamp_millis : G
timestamp_seconds : N
bit_get getbit : G i
bitmap_count : B
array_insert : . 1 .
array_join : j S
array_join : j S S
array_repeat : . I
explode_outer=explode posexplode_outer=posexplode : x
element_at try_element_at=element_at : x .
aes_decrypt try_aes_decrypt=aes_decrypt : b b | GCM|DEFAULT|
aes_decrypt try_aes_decrypt=aes_decrypt : b b s | DEFAULT|
aes_decrypt try_aes_decrypt=aes_decrypt : b b s s | 
aes_decrypt try_aes_decrypt=aes_decrypt : b b s s b
variant_get try_variant_get : V S
btrim=trim : s
contains endswith startswith regexp=REGEXP regexp_like=REGEXP_LIKE rlike=RLIKE : s s
reverse : k
format_number : N z
get_json_object parse_url try_parse_url=parse_url : S S
parse_url try_parse_url=parse_url : S S S
json_array_length json_object_keys parse_json soundex try_parse_json : S
is_valid_utf8 make_valid_utf8 validate_utf8 try_validate_utf8 try_url_decode=url_decode : s
lpad rpad : s i |  
lpad rpad : s i s
str_to_map : S | ,|:
str_to_map : S S | :
str_to_map : S S S
mask : S | X|x|n|NULL
hour minute second : h
unix_date : p
unix_micros unix_millis unix_seconds : t
make_timestamp try_make_timestamp=make_timestamp make_timestamp_ntz try_make_timestamp_ntz=make_timestamp_ntz : p T
make_timestamp try_make_timestamp=make_timestamp make_timestamp_ltz try_make_timestamp_ltz : i i i i i 6
make_timestamp_ntz try_make_timestamp_ntz : i i i i i 6
make_timestamp try_make_timestamp=make_timestamp make_timestamp_ltz try_make_timestamp_ltz : i i i i i 6 s
to_date try_to_date to_timestamp_ntz : y
to_date try_to_date to_timestamp_ntz : y s
to_timestamp try_to_timestamp to_timestamp_ltz : Y
to_timestamp try_to_timestamp to_timestamp_ltz : Y s
to_unix_timestamp unix_timestamp : u | yyyy-MM-dd HH:mm:ss
to_unix_timestamp unix_timestamp : u S
max_by min_by : . . i
histogram_numeric : . i
rand randn : L
`

// A stated call says what the arguments of a function must be.
type stated struct {
	name     string // that errors show
	params   []byte
	defaults []string
}

var statedCalls = sync.OnceValue(func() map[string][]stated {
	out := map[string][]stated{}
	for line := range strings.Lines(inputTable) {
		names, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " : ")
		if !ok {
			continue
		}
		params, defaults, more := strings.Cut(rest, " | ")
		var s stated
		for _, p := range strings.Fields(params) {
			if _, ok := inputKinds[p[0]]; !ok || len(p) > 1 {
				panic(fmt.Sprintf("expr: inputTable has no kind of parameter %q", p))
			}
			s.params = append(s.params, p[0])
		}
		if more {
			s.defaults = strings.Split(defaults, "|")
		}
		for _, n := range strings.Fields(names) {
			var shown bool
			if n, s.name, shown = strings.Cut(n, "="); !shown {
				s.name = n
			}
			out[n] = append(out[n], s)
		}
	}
	return out
})

// inputLetter is the letter of a type in inputTable, 0 for types that it does not speak of.
func inputLetter(t types.DataType) byte {
	switch t.Kind {
	case types.String:
		return 's'
	case types.TinyInt, types.SmallInt, types.Int:
		return 'i'
	case types.BigInt:
		return 'l'
	case types.Float, types.Double:
		return 'd'
	case types.Decimal:
		return 'D'
	case types.Date:
		return 'a'
	case types.Timestamp:
		return 't'
	case types.TimestampNTZ:
		return 'n'
	case types.Binary:
		return 'b'
	case types.Boolean:
		return 'B'
	case types.Array:
		return 'A'
	case types.Map:
		return 'M'
	case types.Struct:
		return 'S'
	case types.Null:
		return 'N'
	case types.DayTime, types.YearMonth:
		return 'I'
	case types.Time:
		return 'T'
	}
	return 0
}

// inputs holds the arguments against inputTable, the first first, before a builder casts them.
func (c *Call) inputs() error {
	for _, s := range statedCalls()[c.Name] {
		if len(s.params) != len(c.Args) {
			continue
		}
		for i, p := range s.params {
			k := inputKinds[p]
			if k.required == "" || c.Args[i] == nil {
				continue
			}
			if _, lambda := c.Args[i].(*Lambda); lambda {
				continue
			}
			t := c.Args[i].Type()
			l := inputLetter(t)
			exact := (p == 'I' || p == '1') && t.Kind != types.Int && l != 'N'
			if l == 0 || !exact && strings.IndexByte(k.accepts, l) >= 0 {
				continue
			}
			text := callText(s.name, c.Args)
			if len(s.defaults) > 0 {
				text = text[:len(text)-1] + ", " + strings.Join(s.defaults, ", ") + ")"
			}
			return WrongType(text, i, k.required, c.Args[i])
		}
	}
	return nil
}
