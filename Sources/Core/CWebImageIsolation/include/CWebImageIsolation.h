// What a program and its decoder processes share: processes, messages with descriptors, and memory.
//
// Swift's Glibc module shows neither variadic functions nor the macros of control messages.

#ifndef CWEBIMAGE_ISOLATION_H
#define CWEBIMAGE_ISOLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: Processes

/// The descriptors of a decoder process: the channel, and the control of the process that supervises it.
enum { CWI_CHANNEL_DESCRIPTOR = 3, CWI_CONTROL_DESCRIPTOR = 4 };

/// What a program tells the supervisor of a decoder process. When the program's end of the control is closed, both processes end.
typedef struct {
    /// The limits for the next image: the memory that the process does not share with the program, in bytes, and its processor time from now
    /// on. UINT64_MAX is the limit of the process.
    uint64_t memory_length;
    uint64_t processor_seconds;
    /// Whether both processes get the lowest priority.
    uint8_t lowers_priority;
    /// Whether to send a byte when the limits hold.
    uint8_t wants_reply;
} cwi_control_message;

typedef struct {
    /// The process, or -1.
    int pid;
    /// A descriptor of the process that no other process can take over, or -1 where the kernel has none.
    int pidfd;
    /// What identifies the descriptors: other files may get their numbers if the program closes all descriptors.
    uint64_t pidfd_inode;
    /// The program's end of the channel.
    int channel;
    uint64_t channel_inode;
    /// The program's end of the control.
    int control;
    uint64_t control_inode;
    /// What it was told last.
    cwi_control_message limits;
} cwi_decoder_process;

/// Starts a decoder: a new process group, an environment without the program's variables, all signals at their defaults, no descriptors but
/// the channel, the control and three that lead nowhere. Returns 0 or an error number.
///
/// - library: the name of the format whose library it loads; empty for none.
int cwi_decoder_start(const char *path, const char *library, cwi_decoder_process *process);

/// The library that this process was started with. Valid until the environment changes.
const char *cwi_decoder_library(void);

/// Whether the program's end of the channel is still the one that was opened.
bool cwi_decoder_has_channel(const cwi_decoder_process *process);

/// How a process ended.
typedef struct {
    /// Whether it ended by itself, in the given time.
    bool is_known;
    /// The signal, or 0.
    int signal;
    /// The status, if there was no signal.
    int status;
} cwi_exit;

/// Closes the channel, waits for the process, kills it if it takes longer than `milliseconds`, and closes the descriptors. A program that
/// handles or ignores SIGCHLD may have taken its status away: then how it ended is unknown.
cwi_exit cwi_decoder_end(cwi_decoder_process *process, int milliseconds);

/// Limits the next image of the process, which cannot raise its limits itself. Returns whether the limits hold within `milliseconds`.
bool cwi_decoder_limit(cwi_decoder_process *process, uint64_t memory_length, uint64_t processor_seconds, int milliseconds);

/// Gives the process the lowest priority. It cannot be raised again.
void cwi_decoder_lower_priority(cwi_decoder_process *process);

/// Closes the descriptors of a process that belongs to a parent of this one: after `fork`, the child must not touch it.
void cwi_decoder_forget(cwi_decoder_process *process);

// MARK: Messages

enum { CWI_MAXIMUM_MESSAGE = 1 << 16, CWI_MAXIMUM_DESCRIPTORS = 2 };

typedef enum {
    CWI_CHANNEL_OK,
    /// The other end is closed.
    CWI_CHANNEL_CLOSED,
    /// Nothing arrived in time.
    CWI_CHANNEL_IDLE,
    /// `errno` tells.
    CWI_CHANNEL_FAILED,
} cwi_channel_status;

/// Sends one message with descriptors, of which the receiver gets copies. Never raises SIGPIPE.
cwi_channel_status cwi_channel_send(
    int channel, const void *bytes, size_t length, const int *descriptors, size_t descriptor_count);

/// Receives one message: its length in `*length`, its descriptors in `descriptors`, which the caller must close. Waits for at most
/// `milliseconds`, or without end for -1. A message that is too long, or has too many descriptors, is CWI_CHANNEL_FAILED with EMSGSIZE.
cwi_channel_status cwi_channel_receive(
    int channel, void *bytes, size_t capacity, size_t *length, int descriptors[CWI_MAXIMUM_DESCRIPTORS],
    size_t *descriptor_count, int milliseconds);

// MARK: Memory

/// Creates memory of `length` bytes that cannot become smaller or larger, or be sealed further. Pages take memory once they are touched. -1 and errno if that
/// fails; EFBIG without a signal where RLIMIT_FSIZE is in the way.
int cwi_memory_create(size_t length);

/// Creates memory with these bytes that cannot change any more.
int cwi_memory_create_constant(const void *bytes, size_t length);

/// Copies bytes to the beginning of memory, without a mapping. 0 or an error number.
int cwi_memory_write(int descriptor, const void *bytes, size_t length);

/// Copies bytes out of memory, without a mapping: memory that another process may write to. 0 or an error number.
int cwi_memory_read(int descriptor, size_t offset, void *bytes, size_t length);

/// Gives a range of memory back to the system, also where another process maps it. It is zero then.
void cwi_memory_clear(int descriptor, size_t offset, size_t length);

/// What identifies the file of a descriptor: other files may get its number if the program closes all descriptors. 0 if it is closed.
uint64_t cwi_inode(int descriptor);

/// Closes a descriptor if it still is the file that it was.
void cwi_close_same(int descriptor, uint64_t inode);

/// The length of memory that cannot be resized or sealed further, or -1.
int64_t cwi_memory_fixed_length(int descriptor);

/// The length of memory or a file, or -1.
int64_t cwi_memory_length(int descriptor);

typedef enum {
    /// Both processes see what is written.
    CWI_ACCESS_SHARED,
    /// Reading only.
    CWI_ACCESS_READ,
    /// What is written stays in this process.
    CWI_ACCESS_COPY,
} cwi_access;

/// Maps a part of memory, which begins at a page. NULL and errno if that fails.
void *cwi_memory_map(int descriptor, size_t offset, size_t length, cwi_access access);
void cwi_memory_unmap(void *address, size_t length);

/// Gives the pages of shared memory that are wholly inside the range back to the system.
void cwi_memory_discard(void *address, size_t length);

#endif
