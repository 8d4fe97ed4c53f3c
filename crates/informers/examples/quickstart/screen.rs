//! Output that is pleasant in a terminal and plain in a pipe.

use std::fmt::Display;
use std::io::IsTerminal;

/// Standard output.
pub(crate) struct Screen {
    colours: bool,
    indent: &'static str,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            colours: wanted && std::io::stdout().is_terminal(),
            indent: "  ",
        }
    }

    /// Begins a part of the tour.
    pub(crate) fn heading(&self, text: impl Display) {
        println!("\n{}", self.paint("1;36", text));
    }

    /// One line below a heading.
    pub(crate) fn line(&self, text: impl Display) {
        println!("{}{text}", self.indent);
    }

    /// A name and what there is to say of it.
    pub(crate) fn fact(&self, name: &str, value: impl Display) {
        println!("{}{name:<34} {}", self.indent, self.paint("1", value));
    }

    fn paint(&self, code: &str, text: impl Display) -> String {
        if self.colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}
