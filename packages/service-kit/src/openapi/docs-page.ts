import type { OpenApiDocument } from './open-api-of.ts';
import type { Json } from './json-schemas.ts';

/** A description as one page: no script and nothing from elsewhere, so it stands under helmet's content security policy. */
export function docsPage(document: OpenApiDocument): string {
  const { info, servers, tags, components, paths, webhooks = {} } = document as unknown as Shown;
  const base = servers[0]?.url ?? '';
  const operationsOf = (of: Shown['paths'], prefix: string) =>
    Object.entries(of).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path: prefix + path, method, operation })),
    );
  const operations = [...operationsOf(paths, base), ...operationsOf(webhooks, '')];
  const sections = tags.map(({ name, description }) => {
    const here = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<h2>${text(name)}</h2><p>${prose(description)}</p>${here.map(operationPart(components)).join('')}`;
  });
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${text(name)}"><summary>${text(name)}</summary>${code(schema)}</details>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${text(info.title)}</title>
<style>${style}</style></head>
<body><main>
<h1>${text(info.title)} ${text(info.version)}</h1>
<p>${prose(info.description)} Base path: <code>${text(base)}</code>. The same as a document: <a href="${text(base)}/openapi.json">OpenAPI 3.1</a>.
What is marked ${addition(true)} goes beyond the specification.</p>
${sections.join('\n')}
<h2>Schemas</h2>
${schemas.join('\n')}
</main></body></html>
`;
}

/** The parts of a document that the page shows, as the generator makes them. */
interface Shown {
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, ShownOperation>>;
  webhooks?: Record<string, Record<string, ShownOperation>>;
  components: { schemas: Record<string, Json>; responses: Record<string, ShownResponse> };
}

interface ShownOperation {
  tags: string[];
  summary: string;
  description?: string;
  'x-addition'?: true;
  security: Record<string, string[]>[];
  parameters?: {
    name: string;
    in: string;
    required: boolean;
    description: string;
    schema: Json;
    'x-addition'?: true;
  }[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, ShownResponse | { $ref: string }>;
}

interface ShownResponse {
  description: string;
  'x-addition'?: true;
  /** Those of every answer are references. */
  headers?: Record<string, { description: string } | { $ref: string }>;
  content?: Content;
}

type Content = Record<string, { schema?: Json; example?: unknown }>;

const operationPart =
  (components: Shown['components']) =>
  ({ path, method, operation }: { path: string; method: string; operation: ShownOperation }): string => {
    const { summary, description, security, parameters = [], requestBody, responses } = operation;
    const scopes = security.map(({ token = [] }) => token.join(' ') || 'any token').join() || 'no token';
    const rows = parameters.map(
      (each) =>
        `<tr><td><code>${text(each.name)}</code>${each.required ? '' : '?'} ${addition(each['x-addition'])}<td>${text(each.in)}<td>${prose(each.description)} ${schemaText(each.schema)}`,
    );
    const answers = Object.entries(responses).map(([status, given]) => {
      const answer = '$ref' in given ? components.responses[nameOf(given.$ref)]! : given;
      return `<tr><td>${status} ${addition(answer['x-addition'])}<td>${prose(answer.description)}${headersText(answer.headers)}<td>${contentText(answer.content)}`;
    });
    return `<details><summary><b>${method.toUpperCase()}</b> <code>${text(path)}</code> ${text(summary)} ${addition(operation['x-addition'])}</summary>
${description === undefined ? '' : `<p>${prose(description)}</p>`}<p>Needs: <code>${text(scopes)}</code></p>
${rows.length === 0 ? '' : `<table><tr><th>Parameter<th>In<th>Meaning${rows.join('')}</table>`}
${requestBody === undefined ? '' : `<p>Body${requestBody.required ? '' : ' (may be absent)'}: ${contentText(requestBody.content)}</p>`}
<table><tr><th>Status<th>Meaning<th>Body${answers.join('')}</table></details>`;
  };

/** What an answer carries beyond the headers of every answer. */
const headersText = (headers: ShownResponse['headers'] = {}): string =>
  Object.entries(headers)
    .map(([name, header]) =>
      '$ref' in header ? '' : `<br><code>${text(name)}</code>: ${prose(header.description)}`,
    )
    .join('');

const contentText = (content: Content = {}): string =>
  Object.entries(content)
    .map(
      ([type, { schema = {}, example }]) =>
        `${type === 'application/json' ? '' : text(type)} ${schemaText(schema)}${example === undefined ? '' : code(example)}`,
    )
    .join('');

/** A reference as a link, with the codes of an error beside it. */
function schemaText(schema: Json): string {
  const { $ref, properties } = schema as { $ref?: string; properties?: { code?: { enum?: string[] } } };
  if ($ref === undefined)
    return properties === undefined ? `<code>${text(JSON.stringify(schema))}</code>` : code(schema);
  const codes = (properties?.code?.enum ?? []).map((each) => `<code>${text(each)}</code>`).join(' ');
  return `<a href="#schema-${text(nameOf($ref))}">${text(nameOf($ref))}</a> ${codes}`;
}

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

const addition = (marked: true | undefined): string => (marked === true ? '<small>addition</small>' : '');

const code = (value: unknown): string => `<pre>${text(JSON.stringify(value, null, 2))}</pre>`;

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const text = (raw: string): string => raw.replaceAll(/[&<>"']/g, (character) => escapes[character]!);

/** Text in which backticks mark what is code. */
const prose = (raw: string): string => text(raw).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 64rem; margin: 0 auto; padding: 1rem }
details { border-top: 1px solid #8884; padding: .5rem 0 }
summary { cursor: pointer }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .25rem .5rem; text-align: left; vertical-align: top }
code, pre { font-size: .85em; overflow-wrap: anywhere; white-space: pre-wrap }
small { border: 1px solid; border-radius: .5em; padding: 0 .4em }
`;
