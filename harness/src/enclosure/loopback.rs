//! Brings the loopback interface of a fresh network namespace up, by one netlink message: no program for it need be
//! installed.

use std::os::fd::AsRawFd as _;

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// `RTM_NEWLINK` of `linux/rtnetlink.h`.
const NEW_LINK: u16 = 16;

/// `NLM_F_REQUEST | NLM_F_ACK` of `linux/netlink.h`.
const REQUEST_AND_ANSWER: u16 = 1 | 4;

/// The index of `lo`: the first interface of every network namespace.
const LOOPBACK: i32 = 1;

/// `IFF_UP` of `linux/if.h`.
const UP: u32 = 1;

/// Where the error number stands in an answer: behind its header of 16 bytes.
const ERROR: std::ops::Range<usize> = 16..20;

/// Brings it up.
pub fn up() -> std::io::Result<()> {
    let link = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let kernel = NetlinkAddr::new(0, 0);
    sendto(link.as_raw_fd(), &message(), &kernel, MsgFlags::empty())?;
    let mut answer = [0; 128];
    let length = recv(link.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let error = answer[..length]
        .get(ERROR)
        .and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(number) => Err(std::io::Error::from_raw_os_error(-number)),
        None => Err(std::io::Error::other("the kernel's answer is too short")),
    }
}

/// `struct nlmsghdr` and `struct ifinfomsg`, 16 bytes each.
fn message() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    bytes.extend(32_u32.to_ne_bytes());
    bytes.extend(NEW_LINK.to_ne_bytes());
    bytes.extend(REQUEST_AND_ANSWER.to_ne_bytes());
    // Sequence number and port; family, padding and type.
    bytes.extend([0; 12]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_message_has_the_length_that_it_states() {
        let bytes = super::message();
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[..4], 32_u32.to_ne_bytes());
    }
}
