//! The parser of selectors.

use std::fmt;

use super::requirement::{Operator, Requirement, RequirementError, check_key, check_value};

/// A text is no label selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseSelectorError {
    position: usize,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    Unexpected {
        /// `None` at the end of the text.
        found: Option<String>,
        expected: &'static str,
    },
    Invalid(RequirementError),
}

impl ParseSelectorError {
    /// Where in the text it goes wrong, in bytes from its beginning.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for ParseSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position;
        match &self.problem {
            Problem::Unexpected { found, expected } => {
                write!(f, "expected {expected} at position {position}, found ")?;
                match found {
                    Some(found) => write!(f, "{found:?}"),
                    None => f.write_str("the end"),
                }
            }
            Problem::Invalid(_) => write!(f, "invalid requirement at position {position}"),
        }
    }
}

impl std::error::Error for ParseSelectorError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Unexpected { .. } => None,
            Problem::Invalid(error) => Some(error),
        }
    }
}

/// `[requirement {"," requirement}]`
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, ParseSelectorError> {
    let mut parser = Parser::new(text);
    let mut requirements = Vec::new();
    if parser.token == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        match parser.token {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => parser.advance(),
            Token::Symbol(_) | Token::Word(_) => return Err(parser.unexpected("',' or the end")),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Symbol(&'t str),
    End,
}

struct Parser<'t> {
    text: &'t str,
    /// Where `token` starts.
    position: usize,
    token: Token<'t>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let mut parser = Self {
            text,
            position: 0,
            token: Token::Symbol(""),
        };
        parser.advance();
        parser
    }

    /// `"!" key | key [operator value | ("in" | "notin") values]`
    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let at = self.position;
        let negated = self.take_symbol("!");
        let key = self.key(if negated { "a key" } else { "a key or '!'" })?;
        let (operator, values) = match self.token {
            _ if negated => (Operator::DoesNotExist, Vec::new()),
            Token::End | Token::Symbol(",") => (Operator::Exists, Vec::new()),
            Token::Symbol("=" | "==") => (Operator::Equals, self.one_value()?),
            Token::Symbol("!=") => (Operator::NotEquals, self.one_value()?),
            Token::Symbol(">") => (Operator::GreaterThan, self.one_value()?),
            Token::Symbol("<") => (Operator::LessThan, self.one_value()?),
            Token::Word("in") => (Operator::In, self.values()?),
            Token::Word("notin") => (Operator::NotIn, self.values()?),
            Token::Symbol(_) | Token::Word(_) => {
                return Err(
                    self.unexpected("'=', '==', '!=', '>', '<', 'in', 'notin', ',' or the end")
                );
            }
        };
        Requirement::new(key, operator, values).map_err(|error| invalid(at, error))
    }

    fn key(&mut self, expected: &'static str) -> Result<&'t str, ParseSelectorError> {
        let Token::Word(key) = self.token else {
            return Err(self.unexpected(expected));
        };
        check_key(key).map_err(|error| invalid(self.position, error))?;
        self.advance();
        Ok(key)
    }

    /// A value after an operator; empty at the end of the requirement.
    fn one_value(&mut self) -> Result<Vec<&'t str>, ParseSelectorError> {
        self.advance();
        match self.token {
            Token::End | Token::Symbol(",") => Ok(vec![""]),
            Token::Word(_) => Ok(vec![self.value()?]),
            Token::Symbol(_) => Err(self.unexpected("a value")),
        }
    }

    /// `"(" [value] {"," [value]} ")"` after an operator; a value left out is empty.
    fn values(&mut self) -> Result<Vec<&'t str>, ParseSelectorError> {
        self.advance();
        if !self.take_symbol("(") {
            return Err(self.unexpected("'('"));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value()?);
            if self.take_symbol(")") {
                return Ok(values);
            }
            if !self.take_symbol(",") {
                return Err(self.unexpected("',' or ')'"));
            }
        }
    }

    /// The value that stands here, which may be none at all.
    fn value(&mut self) -> Result<&'t str, ParseSelectorError> {
        let Token::Word(value) = self.token else {
            return Ok("");
        };
        check_value(value).map_err(|error| invalid(self.position, error))?;
        self.advance();
        Ok(value)
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.token == Token::Symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn advance(&mut self) {
        let behind = match self.token {
            Token::Word(text) | Token::Symbol(text) => self.position + text.len(),
            Token::End => return,
        };
        let rest = &self.text[behind..];
        let token = rest.trim_start_matches(is_space);
        self.position = behind + (rest.len() - token.len());
        self.token = match token.find(|c| is_space(c) || is_symbol(c)) {
            None if token.is_empty() => Token::End,
            None => Token::Word(token),
            Some(0) => {
                let double = token.starts_with("==") || token.starts_with("!=");
                Token::Symbol(&token[..if double { 2 } else { 1 }])
            }
            Some(end) => Token::Word(&token[..end]),
        };
    }

    fn unexpected(&self, expected: &'static str) -> ParseSelectorError {
        let found = match self.token {
            Token::Word(text) | Token::Symbol(text) => Some(text.to_owned()),
            Token::End => None,
        };
        ParseSelectorError {
            position: self.position,
            problem: Problem::Unexpected { found, expected },
        }
    }
}

fn invalid(position: usize, error: RequirementError) -> ParseSelectorError {
    ParseSelectorError {
        position,
        problem: Problem::Invalid(error),
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
