//! A list that grows without being copied: while a vector is doubled, it holds three times its size (`cargo xtask bench --only
//! view`, peak memory).

const CHUNK: usize = 1 << 16;

/// A list of small values in chunks of equal length.
#[derive(Debug, Clone)]
pub(crate) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { chunks: Vec::new() }
    }
}

impl<T> Chunked<T> {
    pub(crate) fn len(&self) -> usize {
        match self.chunks.split_last() {
            Some((last, full)) => full.len() * CHUNK + last.len(),
            None => 0,
        }
    }

    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    pub(crate) fn push(&mut self, value: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(value),
            _ => self.chunks.push(vec![value]),
        }
    }

    /// Sets the value at an index up to the length; at the length it is appended.
    pub(crate) fn set(&mut self, at: usize, value: T) {
        match self.chunks.get_mut(at / CHUNK).and_then(|chunk| chunk.get_mut(at % CHUNK)) {
            Some(place) => *place = value,
            None => self.push(value),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut list = Chunked::default();
        for n in 0..CHUNK + 10 {
            list.set(n, n);
        }
        list.set(CHUNK + 1, 7);
        assert_eq!((list.len(), list.get(CHUNK), list.get(CHUNK + 1)), (CHUNK + 10, Some(&CHUNK), Some(&7)));
        assert_eq!((list.get(CHUNK + 10), list.iter().count()), (None, CHUNK + 10));
    }
}
