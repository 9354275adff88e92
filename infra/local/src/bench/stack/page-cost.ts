import got from 'got';
import { median } from '../median.ts';

export interface PagedList {
  /** With its query, without a cursor. */
  url: string;
  token: string;
}

interface Page {
  data: unknown[];
  page: { nextCursor: string | null };
}

const times = 200;

/** What one page takes, in ms: each of the pages in turn, again and again; the medians. */
export async function pageCosts(lists: (PagedList & { cursor: string | null })[]): Promise<number[]> {
  const taken = lists.map((): number[] => []);
  for (let time = 0; time < times; time += 1) {
    for (const [index, list] of lists.entries()) {
      const startedAt = performance.now();
      await readPage(list, list.cursor);
      taken[index]!.push(performance.now() - startedAt);
    }
  }
  return taken.map(median);
}

/** The cursor of the page after so many, as a reader comes to it. */
export async function walkPages(list: PagedList, pages: number, signal: AbortSignal): Promise<string | null> {
  let cursor: string | null = null;
  for (let page = 0; page < pages; page += 1) {
    signal.throwIfAborted();
    cursor = (await readPage(list, cursor)).page.nextCursor;
    if (cursor === null) throw new Error(`The list ends after ${page + 1} pages.`);
  }
  return cursor;
}

async function readPage({ url, token }: PagedList, cursor: string | null): Promise<Page> {
  const address = new URL(url);
  if (cursor !== null) address.searchParams.set('cursor', cursor);
  const page = await got(address, {
    headers: { authorization: `Bearer ${token}` },
    retry: { limit: 0 },
  }).json<Page>();
  if (page.data.length === 0) throw new Error('A page is empty.');
  return page;
}
