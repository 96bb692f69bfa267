//! (room doc)
