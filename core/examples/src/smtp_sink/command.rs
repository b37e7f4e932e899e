//! What a client says, read.

use evserver_core::parse_decimal;

/// Bytes of a path, the angle brackets included (RFC 5321, 4.5.3.1.3).
const PATH_BYTES: usize = 256;

/// A command with what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// EHLO, and who says it.
    Ehlo,
    /// HELO, and who says it.
    Helo,
    /// MAIL, the sender's address, and the size if it was announced.
    Mail(&'a [u8], Option<u64>),
    /// RCPT and a recipient's address.
    Rcpt(&'a [u8]),
    /// DATA.
    Data,
    /// RSET.
    Rset,
    /// NOOP, whatever it says.
    Noop,
    /// VRFY and something.
    Vrfy,
    /// QUIT.
    Quit,
}

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// There is no such command here.
    Unknown,
    /// The command is known, what stands behind it makes no sense.
    Arguments,
    /// MAIL or RCPT has a parameter that was not offered.
    Parameter,
}

impl<'a> Command<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is no command.
    pub fn parse(line: &'a [u8]) -> Result<Self, Mistake> {
        let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
        let (verb, rest) = line.split_at(end);
        let mut upper = [0; 4];
        upper.get_mut(..verb.len()).ok_or(Mistake::Unknown)?.copy_from_slice(verb);
        upper.make_ascii_uppercase();
        let rest = rest.trim_ascii();
        let alone = |command| if rest.is_empty() { Ok(command) } else { Err(Mistake::Arguments) };
        let with_name = |command| if rest.is_empty() { Err(Mistake::Arguments) } else { Ok(command) };
        match &upper {
            b"EHLO" => with_name(Self::Ehlo),
            b"HELO" => with_name(Self::Helo),
            b"MAIL" => {
                let (path, parameters) = path(rest, b"FROM:")?;
                Ok(Self::Mail(path, announced_size(parameters)?))
            }
            b"RCPT" => match path(rest, b"TO:")? {
                ([], _) => Err(Mistake::Arguments),
                (path, []) => Ok(Self::Rcpt(path)),
                _ => Err(Mistake::Parameter),
            },
            b"DATA" => alone(Self::Data),
            b"RSET" => alone(Self::Rset),
            b"NOOP" => Ok(Self::Noop),
            b"VRFY" => with_name(Self::Vrfy),
            b"QUIT" => alone(Self::Quit),
            _ => Err(Mistake::Unknown),
        }
    }
}

/// The address in `FROM:<address>`, and what stands behind it.
fn path<'a>(rest: &'a [u8], keyword: &[u8]) -> Result<(&'a [u8], &'a [u8]), Mistake> {
    let (word, rest) = rest.split_at_checked(keyword.len()).ok_or(Mistake::Arguments)?;
    if !word.eq_ignore_ascii_case(keyword) {
        return Err(Mistake::Arguments);
    }
    // A space behind the colon is a common mistake of clients and harms nobody.
    let inside = rest.trim_ascii_start().strip_prefix(b"<").ok_or(Mistake::Arguments)?;
    let end = inside.iter().position(|&byte| byte == b'>').ok_or(Mistake::Arguments)?;
    let (address, behind) = inside.split_at(end);
    let strange = |byte: &u8| byte.is_ascii_control() || matches!(byte, b' ' | b'<');
    if address.len() > PATH_BYTES - 2 || address.iter().any(strange) {
        return Err(Mistake::Arguments);
    }
    match behind {
        [b'>'] => Ok((address, &[])),
        [b'>', b' ', parameters @ ..] => Ok((address, parameters.trim_ascii())),
        _ => Err(Mistake::Arguments),
    }
}

/// The value of SIZE among the parameters of MAIL; BODY says nothing that matters here.
fn announced_size(parameters: &[u8]) -> Result<Option<u64>, Mistake> {
    let mut size = None;
    for parameter in parameters.split(|&byte| byte == b' ').filter(|parameter| !parameter.is_empty()) {
        match parameter.to_ascii_uppercase().as_slice() {
            [b'S', b'I', b'Z', b'E', b'=', digits @ ..] if size.is_none() => {
                size = Some(parse_decimal(digits).ok_or(Mistake::Arguments)?);
            }
            b"BODY=7BIT" | b"BODY=8BITMIME" => {}
            _ => return Err(Mistake::Parameter),
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_any_case() {
        for (line, command) in [
            (&b"EHLO example.org"[..], Command::Ehlo),
            (b"helo x", Command::Helo),
            (b"MAIL FROM:<>", Command::Mail(b"", None)),
            (b"mail from:<a@b> size=12 BODY=8bitmime", Command::Mail(b"a@b", Some(12))),
            (b"MAIL FROM: <a@b>", Command::Mail(b"a@b", None)),
            (b"RCPT TO:<c@d>", Command::Rcpt(b"c@d")),
            (b"Data", Command::Data),
            (b"rset ", Command::Rset),
            (b"NOOP whatever", Command::Noop),
            (b"VRFY somebody", Command::Vrfy),
            (b"quit", Command::Quit),
        ] {
            assert_eq!(Command::parse(line), Ok(command), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn what_is_no_command_is_told_apart() {
        let long = [b"RCPT TO:<".to_vec(), vec![b'a'; 255], b">".to_vec()].concat();
        for (line, mistake) in [
            (&b""[..], Mistake::Unknown),
            (b"STARTTLS", Mistake::Unknown),
            (b"EHL x", Mistake::Unknown),
            (b"EHLO", Mistake::Arguments),
            (b"DATA now", Mistake::Arguments),
            (b"MAIL", Mistake::Arguments),
            (b"MAIL TO:<a@b>", Mistake::Arguments),
            (b"MAIL FROM:a@b", Mistake::Arguments),
            (b"MAIL FROM:<a@b", Mistake::Arguments),
            (b"MAIL FROM:<a b@c>", Mistake::Arguments),
            (b"MAIL FROM:<a\0b@c>", Mistake::Arguments),
            (b"MAIL FROM:<a@b>SIZE=1", Mistake::Arguments),
            (b"MAIL FROM:<a@b> SIZE=-1", Mistake::Arguments),
            (b"MAIL FROM:<a@b> SIZE=", Mistake::Arguments),
            (b"MAIL FROM:<a@b> SIZE=99999999999999999999999", Mistake::Arguments),
            (b"MAIL FROM:<a@b> SIZE=1 SIZE=2", Mistake::Parameter),
            (b"MAIL FROM:<a@b> AUTH=x", Mistake::Parameter),
            (b"RCPT TO:<>", Mistake::Arguments),
            (b"RCPT TO:<a@b> NOTIFY=NEVER", Mistake::Parameter),
            (&long, Mistake::Arguments),
        ] {
            assert_eq!(Command::parse(line), Err(mistake), "{}", line.escape_ascii());
        }
    }
}
