//! Just enough DER to see of a certificate what [`verifier`](super::verifier) needs
//! where webpki does not go.

use std::time::Duration;

use rustls_pki_types::UnixTime;

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const SERVER_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// Parts of a certificate.
pub(super) struct Certificate<'a> {
    /// What the issuer signed, header included.
    pub(super) signed: &'a [u8],
    /// The issuer's name, without its outer header.
    pub(super) issuer: &'a [u8],
    /// The signature algorithm, without its outer header.
    pub(super) algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    not_before: UnixTime,
    not_after: UnixTime,
    serves: bool,
}

impl<'a> Certificate<'a> {
    /// `None` if it is not as X.509 says.
    pub(super) fn parse(der: &'a [u8]) -> Option<Self> {
        let mut outer = Reader(Reader(der).expect(SEQUENCE)?);
        let (signed, tbs) = outer.element(SEQUENCE)?;
        let algorithm = outer.expect(SEQUENCE)?;
        let signature = bits(outer.expect(BIT_STRING)?)?;

        let mut tbs = Reader(tbs);
        if tbs.peek() == Some(VERSION) {
            tbs.any()?;
        }
        tbs.any()?; // serial number
        tbs.any()?; // signature algorithm, once more
        let issuer = tbs.expect(SEQUENCE)?;
        let mut validity = Reader(tbs.expect(SEQUENCE)?);
        let not_before = validity.time()?;
        let not_after = validity.time()?;
        tbs.any()?; // subject
        tbs.any()?; // public key
        let mut serves = true;
        while let Some((tag, _, content)) = tbs.any() {
            if tag == EXTENSIONS {
                serves = serves_as_server(content)?;
            }
        }
        Some(Self {
            signed,
            issuer,
            algorithm,
            signature,
            not_before,
            not_after,
            serves,
        })
    }

    pub(super) fn is_valid_at(&self, now: UnixTime) -> bool {
        self.not_before <= now && now <= self.not_after
    }

    /// Whether its extended key usage, if it has one, allows to be a server.
    pub(super) fn serves(&self) -> bool {
        self.serves
    }
}

/// Algorithm and key bits of a public key, without the outer header.
pub(super) fn public_key(spki: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader(spki);
    let algorithm = reader.expect(SEQUENCE)?;
    let key = bits(reader.expect(BIT_STRING)?)?;
    Some((algorithm, key))
}

/// The PKCS#1 key inside a PKCS#8 one; `None` if it is of another kind.
pub(super) fn pkcs8_rsa_key(der: &[u8]) -> Option<&[u8]> {
    let mut outer = Reader(Reader(der).expect(SEQUENCE)?);
    outer.expect(INTEGER)?; // version
    let mut algorithm = Reader(outer.expect(SEQUENCE)?);
    if algorithm.expect(OID)? != RSA_ENCRYPTION {
        return None;
    }
    outer.expect(OCTET_STRING)
}

/// The modulus of a PKCS#1 private key, with leading zeros.
pub(super) fn rsa_modulus(der: &[u8]) -> Option<&[u8]> {
    let mut key = Reader(Reader(der).expect(SEQUENCE)?);
    key.expect(INTEGER)?; // version
    key.expect(INTEGER)
}

fn serves_as_server(extensions: &[u8]) -> Option<bool> {
    let mut extensions = Reader(Reader(extensions).expect(SEQUENCE)?);
    while let Some((_, _, extension)) = extensions.any() {
        let mut extension = Reader(extension);
        if extension.expect(OID)? != EXTENDED_KEY_USAGE {
            continue;
        }
        if extension.peek() != Some(OCTET_STRING) {
            extension.any()?; // critical
        }
        let mut usages = Reader(Reader(extension.expect(OCTET_STRING)?).expect(SEQUENCE)?);
        while let Some((_, _, usage)) = usages.any() {
            if usage == SERVER_AUTH || usage == ANY_USAGE {
                return Some(true);
            }
        }
        return Some(false);
    }
    Some(true)
}

/// The bits of a BIT STRING of whole bytes.
fn bits(content: &[u8]) -> Option<&[u8]> {
    match content.split_first()? {
        (0, bits) => Some(bits),
        _ => None,
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next element: tag, whole, content.
    fn any(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let input = self.0;
        let (&tag, rest) = input.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 || rest.len() < count {
                return None;
            }
            let (bytes, after) = rest.split_at(count);
            rest = after;
            bytes
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte))
        };
        let content = rest.get(..length)?;
        let whole = &input[..input.len() - rest.len() + length];
        self.0 = &rest[length..];
        Some((tag, whole, content))
    }

    fn element(&mut self, wanted: u8) -> Option<(&'a [u8], &'a [u8])> {
        let (tag, whole, content) = self.any()?;
        (tag == wanted).then_some((whole, content))
    }

    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.element(wanted).map(|(_, content)| content)
    }

    fn time(&mut self) -> Option<UnixTime> {
        let (tag, _, content) = self.any()?;
        let text = std::str::from_utf8(content).ok()?;
        let (year, rest) = match tag {
            UTC_TIME => {
                let year: i16 = text.get(..2)?.parse().ok()?;
                (
                    if year < 50 { 2000 + year } else { 1900 + year },
                    text.get(2..)?,
                )
            }
            GENERALIZED_TIME => (text.get(..4)?.parse().ok()?, text.get(4..)?),
            _ => return None,
        };
        let part = |at: usize| rest.get(at..at + 2)?.parse::<i8>().ok();
        if rest.get(10..) != Some("Z") {
            return None;
        }
        let date =
            jiff::civil::DateTime::new(year, part(0)?, part(2)?, part(4)?, part(6)?, part(8)?, 0);
        let seconds = date
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()?
            .timestamp()
            .as_second();
        // Before 1970 is as good as 1970.
        let seconds = u64::try_from(seconds).unwrap_or(0);
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}
