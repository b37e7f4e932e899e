//! Lengths as a peer writes them.

/// The number that `digits` write in decimal, or `None` if there is any doubt.
///
/// For lengths and counts that come from a peer. A number has exactly one spelling: no sign, no space, nothing behind
/// it, no zero before it, at most `u64::MAX`. So two programs that read the same bytes cannot see two lengths, and a
/// length that is refused is never cut down to one that is not.
///
/// ```
/// use evserver_core::parse_decimal;
///
/// assert_eq!(parse_decimal(b"4096"), Some(4096));
/// for odd in [&b""[..], b"-1", b"+5", b" 5", b"5x", b"007", b"18446744073709551616", b"1000000000000000000000000"] {
///     assert_eq!(parse_decimal(odd), None);
/// }
/// ```
#[inline]
pub fn parse_decimal(digits: &[u8]) -> Option<u64> {
    match digits {
        [] => return None,
        [b'0', _, ..] => return None,
        _ => {}
    }
    let mut number = 0u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;
    use std::boxed::Box;
    use std::string::ToString;

    #[test]
    fn the_largest_number_is_read_and_the_next_is_not() {
        assert_eq!(parse_decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_decimal(b"18446744073709551616"), None);
        assert_eq!(parse_decimal(b"99999999999999999999"), None);
        assert_eq!(parse_decimal(b"184467440737095516150"), None);
    }

    #[test]
    fn zero_has_one_spelling() {
        assert_eq!(parse_decimal(b"0"), Some(0));
        assert_eq!(parse_decimal(b"00"), None);
        assert_eq!(parse_decimal(b"-0"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            // From this package's folder: at the root.
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../proptest-regressions/decimal.txt"))),
            ..ProptestConfig::default()
        })]

        #[test]
        fn every_number_is_read_as_it_is_written(number: u64) {
            prop_assert_eq!(parse_decimal(number.to_string().as_bytes()), Some(number));
        }

        #[test]
        fn what_is_read_was_written_so(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            if let Some(number) = parse_decimal(&bytes) {
                let written = number.to_string();
                prop_assert_eq!(written.as_bytes(), &bytes[..]);
            }
        }

        /// Random bytes seldom are digits; these are, or nearly.
        #[test]
        fn what_is_nearly_a_number_is_read_as_it_would_be_written(text in "[ +-]?[0-9]{0,25}[ x]?") {
            let expected = text.parse::<u64>().ok().filter(|number| number.to_string() == text);
            prop_assert_eq!(parse_decimal(text.as_bytes()), expected);
        }
    }
}
