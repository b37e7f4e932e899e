//! The command that starts a server, and how a case's own options get into it.

/// A program and its arguments. Placeholders such as `{idle}` stand where an option's value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    arguments: Vec<String>,
}

/// The placeholders, the option that each stands for, and what it is when a case asks for nothing.
const PLACEHOLDERS: &[(&str, &str, &str)] = &[
    ("{listen}", "--listen", "127.0.0.1:0"),
    ("{idle}", "--idle-timeout", "30"),
    ("{line}", "--line-timeout", "0"),
    ("{drain}", "--drain-timeout", "5"),
    ("{max}", "--max-connections", "1000000"),
    ("{backlog}", "--backlog", "512"),
];

impl Command {
    /// A program that takes evserver's options: it listens on a free port of 127.0.0.1 unless `arguments` or a case says otherwise.
    pub fn spawn(program: &str, arguments: &[&str]) -> Command {
        let mut all = vec![program.to_string()];
        if !arguments.contains(&"--listen") {
            all.extend(["--listen".to_string(), "{listen}".to_string()]);
        }
        all.extend(arguments.iter().map(|&argument| argument.to_string()));
        Command { arguments: all }
    }

    /// A command line as somebody types it: words between spaces, of which single or double quotes keep some together.
    ///
    /// # Errors
    /// When there is no word in it, or a quote is not closed.
    pub fn parse(line: &str) -> Result<Command, String> {
        let mut arguments = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        for c in line.chars() {
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => word.get_or_insert_default().push(c),
                None if c == '\'' || c == '"' => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                None if c.is_whitespace() => arguments.extend(word.take()),
                None => word.get_or_insert_default().push(c),
            }
        }
        if quote.is_some() {
            return Err("a quote is not closed".to_string());
        }
        arguments.extend(word);
        if arguments.is_empty() {
            return Err("the command is empty".to_string());
        }
        Ok(Command { arguments })
    }

    /// The words to start, with a case's own options, given as `["--idle-timeout", "1", …]`, put in.
    ///
    /// An option's value takes the place of its placeholder, or of the value that the command gave the same option;
    /// what the command knows nothing of is added at its end, a word that is no option too.
    pub fn with(&self, options: &[&str]) -> Vec<String> {
        let mut words = Vec::new();
        let mut skip_value = false;
        let mut rest = options.to_vec();
        for argument in &self.arguments {
            if std::mem::take(&mut skip_value) {
                continue;
            }
            // A literal option that the case gives too: the case's one is added at the end.
            let has_placeholder =
                PLACEHOLDERS.iter().any(|(mark, option, _)| option == argument && self.contains(mark));
            if argument.starts_with("--") && rest.contains(&argument.as_str()) && !has_placeholder {
                skip_value = takes_value(&rest, argument);
                continue;
            }
            let mut word = argument.clone();
            for &(mark, option, default) in PLACEHOLDERS {
                if word.contains(mark) {
                    let value = take_value(&mut rest, option).unwrap_or(default);
                    word = word.replace(mark, value);
                }
            }
            words.push(word);
        }
        words.extend(rest.iter().map(|&word| word.to_string()));
        words
    }

    fn contains(&self, mark: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(mark))
    }
}

/// Whether the option is followed by a value in the case's own list, and so in the command too.
fn takes_value(options: &[&str], option: &str) -> bool {
    options.windows(2).any(|pair| pair[0] == option && !pair[1].starts_with("--"))
}

/// Takes the first `option value` out of the list.
fn take_value<'a>(options: &mut Vec<&'a str>, option: &str) -> Option<&'a str> {
    let at = options.iter().position(|&word| word == option)?;
    let value = *options.get(at + 1)?;
    options.drain(at..at + 2);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(line: &str, options: &[&str]) -> String {
        Command::parse(line).unwrap().with(options).join(" ")
    }

    #[test]
    fn placeholders_take_the_value_or_the_default() {
        let line = "srv --listen 127.0.0.1:0 --idle-timeout {idle}";
        assert_eq!(with(line, &[]), "srv --listen 127.0.0.1:0 --idle-timeout 30");
        assert_eq!(with(line, &["--idle-timeout", "1"]), "srv --listen 127.0.0.1:0 --idle-timeout 1");
        assert_eq!(with("srv -t={idle} {drain}", &["--idle-timeout", "2"]), "srv -t=2 5");
    }

    #[test]
    fn other_options_are_added_or_replaced() {
        assert_eq!(with("srv -x", &["--drain-timeout", "1"]), "srv -x --drain-timeout 1");
        assert_eq!(
            with("srv --listen a:0 -x", &["--listen", "b:0", "--listen", "c:0"]),
            "srv -x --listen b:0 --listen c:0"
        );
        assert_eq!(
            with("srv --idle-timeout {idle}", &["--drain-timeout", "1"]),
            "srv --idle-timeout 30 --drain-timeout 1"
        );
    }

    #[test]
    fn a_shell_listens_on_a_free_port() {
        let command = Command::spawn("srv", &["--edge-triggered"]);
        assert_eq!(command.with(&[]).join(" "), "srv --listen 127.0.0.1:0 --edge-triggered");
        assert_eq!(command.with(&["--listen", "[::]:0"]).join(" "), "srv --listen [::]:0 --edge-triggered");
    }

    #[test]
    fn quotes_keep_words_together() {
        let words = Command::parse("sh -c 'a  b' \"c d\" e''").unwrap().with(&[]);
        assert_eq!(words, ["sh", "-c", "a  b", "c d", "e"]);
        assert!(Command::parse(" ").is_err());
        assert!(Command::parse("a 'b").is_err());
    }
}
