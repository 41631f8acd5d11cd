// Requests to the server: JSON in, JSON out, and errors that a person can read.

import { route } from './router';
import { token } from './token';

export class ApiError extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 when the server could not be reached. */
    readonly status: number,
    /** The error's code, such as `FILE_NOT_FOUND`, or ''. */
    readonly code: string,
    /** What would be right, or ''. */
    readonly hint: string,
    /** The argument that was wrong, or ''. */
    readonly argument: string,
  ) {
    super(message);
  }
}

export interface Asked {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean | undefined | null>;
  body?: unknown;
  signal?: AbortSignal;
}

const BASE = '/page/api/';

const DEFAULT = 'defaultVault';

/** Remembers the vault that the server takes when none is named, over a reload too. */
export const setDefaultVault = (name: string): void => sessionStorage.setItem(DEFAULT, name);

/** The vault that the address names; '' for the server's default, whether it is named or not: what was begun in one of these
 * addresses belongs to the other too. */
export function vaultName(): string {
  const named = route.get().query.get('vault') ?? '';
  return named === sessionStorage.getItem(DEFAULT) ? '' : named;
}

/** The answer of `/page/api/PATH`. Throws ApiError, or the abort of `signal`. */
export async function api<T>(path: string, { method, query = {}, body, signal }: Asked = {}): Promise<T> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ vault: vaultName(), ...query }))
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  const address = BASE + path + (search.size ? `?${search}` : '');
  return request<T>(address, method ?? (body === undefined ? 'GET' : 'POST'), body, signal);
}

/** The answer, or null when it is still the one with this tag. */
export async function apiTagged<T>(path: string, tag: string, query: Record<string, string> = {}): Promise<{ value: T | null; etag: string }> {
  const search = new URLSearchParams({ ...query, ...(vaultName() && { vault: vaultName() }) });
  const response = await ask(`${BASE}${path}?${search}`, 'GET', undefined, undefined, tag ? { 'If-None-Match': tag } : {});
  if (response.status === 304) return { value: null, etag: tag };
  return { value: await read<T>(response), etag: response.headers.get('ETag') ?? '' };
}

async function request<T>(address: string, method: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return read<T>(await ask(address, method, body, signal));
}

async function ask(address: string, method: string, body: unknown, signal?: AbortSignal, more: Record<string, string> = {}): Promise<Response> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token()}`, ...more };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  try {
    const text = body === undefined ? null : JSON.stringify(body);
    return await fetch(address, { method, headers, body: text, signal: signal ?? null, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('The server cannot be reached at the moment.', 0, '', '', '');
  }
}

async function read<T>(response: Response): Promise<T> {
  // An answer that is cut off, also because nobody wants it any more, must not look like an empty one.
  if (response.ok) return (await response.json()) as T;
  const answer = await response.json().catch(() => ({}));
  const { message = '', code = '', hint = '', argument = '' } = answer.error ?? {};
  throw new ApiError(message || answer.message || `The server answered ${response.status}.`, response.status, code, hint, argument);
}
