//! Seconds as a person writes them, kept as whole milliseconds.

/// Parses decimal seconds (`30`, `0.5`, `.25`) to milliseconds, rounding up: a limit is never shorter than asked
/// for, and what is not zero stays so.
///
/// Digit by digit rather than by way of a float, where 1.1 seconds would be 1100.0000000000002 milliseconds
/// and round up to one more than was written.
///
/// # Errors
///
/// Says in words what is wrong, for clap to show behind the name of the option.
pub fn parse_milliseconds(text: &str) -> Result<u32, String> {
    if text.starts_with('-') {
        return Err("a time cannot be negative".to_owned());
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + part.len() == 0 || !digits(whole) || !digits(part) {
        return Err("write seconds as a decimal number, as in 30 or 0.5".to_owned());
    }
    let value = |digits: &str| {
        digits.bytes().try_fold(0_u32, |sum, byte| sum.checked_mul(10)?.checked_add(u32::from(byte - b'0')))
    };
    let (kept, rest) = part.split_at(part.len().min(3));
    let scale = [1000, 100, 10, 1][kept.len()];
    let round_up = u32::from(rest.bytes().any(|byte| byte != b'0'));
    let milliseconds = || {
        let whole_ms = value(whole)?.checked_mul(1000)?;
        whole_ms.checked_add(value(kept)? * scale)?.checked_add(round_up)
    };
    milliseconds().ok_or_else(|| format!("at most {} seconds", u32::MAX / 1000))
}

#[cfg(test)]
mod tests {
    use super::parse_milliseconds as parse;

    #[test]
    fn decimals_are_exact_and_round_up() {
        for (text, ms) in [
            ("0", 0),
            ("0.0", 0),
            ("0.0000", 0),
            ("30", 30_000),
            ("030", 30_000),
            ("1.1", 1_100),
            ("1.001", 1_001),
            ("0.007", 7),
            (".5", 500),
            ("5.", 5_000),
            ("0.0001", 1),
            ("0.00000000000000000000000000000000001", 1),
            ("1.0010001", 1_002),
            ("1.9999", 2_000),
            ("4294967.295", u32::MAX),
        ] {
            assert_eq!(parse(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused_in_words() {
        let decimal = "write seconds as a decimal number, as in 30 or 0.5";
        let negative = "a time cannot be negative";
        let huge = "at most 4294967 seconds";
        for (text, message) in [
            ("", decimal),
            (".", decimal),
            ("NaN", decimal),
            ("inf", decimal),
            ("infinity", decimal),
            ("1e3", decimal),
            ("+1", decimal),
            (" 1", decimal),
            ("1s", decimal),
            ("1,5", decimal),
            ("1.2.3", decimal),
            ("0x10", decimal),
            ("١", decimal),
            ("-1", negative),
            ("-0", negative),
            ("-inf", negative),
            ("4294967.2951", huge),
            ("4294968", huge),
            ("99999999999999999999999999", huge),
        ] {
            assert_eq!(parse(text).unwrap_err(), message, "{text:?}");
        }
    }
}
