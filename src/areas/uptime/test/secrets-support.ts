import pg from 'pg';
import type { Connection } from '../../../kernel/db/index.ts';

/** Everything that the database holds in any table of ours, as text. */
export async function everythingStored(connection: Connection): Promise<string> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`select t::text as text from ${name} t`);
      texts.push(...rows.map((row) => `${name} ${row.text}`));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

/** Which of these words are in a text: as they are, in base64, in hexadecimal. */
export const wordsIn = (text: string, words: readonly string[]): string[] =>
  words.filter((word) =>
    [word, Buffer.from(word).toString('base64'), Buffer.from(word).toString('hex')].some((each) => text.includes(each)),
  );
