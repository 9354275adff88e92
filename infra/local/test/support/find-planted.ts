/** A place with all that was written there. */
export interface Written {
  where: string;
  text: string;
}

/** `what in where` for each planted value that is found, plain or in one of the forms that a program might give it. */
export function findPlanted(planted: Record<string, string>, written: Written[]): string[] {
  const found = new Set<string>();
  for (const [what, value] of Object.entries(planted)) {
    const forms = formsOf(value);
    for (const { where, text } of written) {
      if (forms.some((form) => text.includes(form))) found.add(`${what} in ${where}`);
    }
  }
  return [...found].toSorted();
}

const formsOf = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  Buffer.from(value).toString('base64'),
  Buffer.from(value).toString('hex'),
];
