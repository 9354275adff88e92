const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Whether an object in a text that is JSON has a name more than once. `JSON.parse` keeps the last one without a word, others
 * keep the first, and what an applicant sent must not be lost (RFC 7493, section 2.3).
 */
export function hasNameTwice(json: string): boolean {
  /** The names so far of each object that is open, and undefined for each list. */
  const open: (Set<string> | undefined)[] = [];
  let isNameNext = false;
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case OPEN_OBJECT:
        open.push(new Set());
        isNameNext = true;
        break;
      case OPEN_LIST:
        open.push(undefined);
        isNameNext = false;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        open.pop();
        isNameNext = false;
        break;
      case COMMA:
        isNameNext = open.at(-1) !== undefined;
        break;
      case QUOTE: {
        const end = endOfText(json, at);
        if (isNameNext) {
          const names = open.at(-1)!;
          const { size } = names;
          names.add(JSON.parse(json.slice(at, end + 1)) as string);
          if (names.size === size) return true;
          isNameNext = false;
        }
        at = end;
        break;
      }
    }
  }
  return false;
}

function endOfText(json: string, start: number): number {
  let at = start + 1;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
