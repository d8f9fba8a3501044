# Vivado's Tcl, as far as packages use it: every command and its arguments are written to $STUB_LOG,
# and what Vivado would refuse is an error. Nothing is synthesised. Reports have the form of those
# that Vivado has written, in vivado/ beside this file: README.md there names the sources.
# tclsh vivado_stub.tcl [-mode batch] [-notrace] [-nojournal] [-log FILE] -source FILE [-tclargs ...]

set ::stub_failing $::env(STUB_FAILING)  ;# runs that end too early, as often as they stand here
set ::stub_skews 0         ;# constraints of bus skew
set ::stub_clocks {}       ;# name -> period, source and places where it is, of create_clock
set ::stub_objects {}      ;# name -> kind, of everything that was made
set ::stub_properties {
    STEPS.SYNTH_DESIGN.ARGS.FLATTEN_HIERARCHY STRATEGY target_language top
    STEPS.POST_ROUTE_PHYS_OPT_DESIGN.IS_ENABLED USED_IN_SYNTHESIS PROCESSING_ORDER
    PACKAGE_PIN IOSTANDARD PULLUP CONFIG_VOLTAGE CFGBVS CONFIG_MODE BITSTREAM.GENERAL.COMPRESS
    BITSTREAM.CONFIG.SPI_BUSWIDTH BITSTREAM.CONFIG.SPI_32BIT_ADDR BITSTREAM.CONFIG.CONFIGRATE
    BITSTREAM.CONFIG.EXTMASTERCCLK_EN BITSTREAM.CONFIG.UNUSEDPIN
    BITSTREAM.CONFIG.OVERTEMPSHUTDOWN IS_SOFT USER_SLL_REG BITSTREAM.CONFIG.CONFIGFALLBACK
    BITSTREAM.CONFIG.SPI_FALL_EDGE PULLDOWN DQS_BIAS PROGRAM.FILE
}

proc record {name arguments} {
    set handle [open $::env(STUB_LOG) a]
    puts $handle [list $name {*}$arguments]
    close $handle
}

# Options and the rest of a command's arguments; an option that is not known is an error.
proc parse {name arguments flags valued} {
    record $name $arguments
    set options {}
    set rest {}
    for {set k 0} {$k < [llength $arguments]} {incr k} {
        set word [lindex $arguments $k]
        if {$word in $flags} {
            dict set options $word 1
        } elseif {$word in $valued} {
            if {[incr k] >= [llength $arguments]} { error "$name: $word has no value" }
            dict set options $word [lindex $arguments $k]
        } elseif {[regexp {^-[a-z_]+$} $word]} {
            error "$name has no option $word"
        } else {
            lappend rest $word
        }
    }
    return [list $options $rest]
}

proc made {kind name} { dict set ::stub_objects "$kind $name" 1 }
proc need {kind name} {
    if {![dict exists $::stub_objects "$kind $name"]} { error "there is no $kind $name" }
    return $name
}
proc need_file {path} {
    if {![file exists $path]} { error "there is no file $path" }
    return $path
}

# The project, kept in its .xpr between calls.
proc create_project {args} {
    lassign [parse create_project $args {-force} {-part}] options rest
    lassign $rest name folder
    if {[dict get $options -part] ne "xcu280-fsvh2892-2L-e"} { error "unknown part" }
    file mkdir $folder
    set ::stub_project [file join $folder $name.xpr]
    foreach {kind object} {project {} fileset sources_1 fileset constrs_1 run synth_1 run impl_1} {
        made $kind $object
    }
}
proc open_project {path} {
    record open_project [list $path]
    set handle [open [need_file $path]]
    set ::stub_objects [read $handle]
    close $handle
    set ::stub_project $path
}
proc save_project {} {
    if {[info exists ::stub_project]} {
        set handle [open $::stub_project w]
        puts $handle $::stub_objects
        close $handle
    }
}
proc close_project {} { record close_project {}; save_project }
proc current_project {} { need project {} }
proc get_filesets {name} { need fileset $name }
proc get_runs {args} {
    lassign [parse get_runs $args {-quiet} {}] options name
    if {[dict exists $options -quiet] && ![dict exists $::stub_objects "run $name"]} { return {} }
    need run $name
}
proc version {option} { return $::env(STUB_VERSION) }
proc get_parts {args} {
    lassign [parse get_parts $args {-quiet} {}] options name
    return [expr {$name in $::env(STUB_PARTS) ? $name : {}}]
}
proc get_ips {name} { need ip $name }
proc get_files {paths} {
    if {[llength $paths] != 1} { error "not one file: $paths" }
    need file [lindex $paths 0]
}

proc add_files {args} {
    lassign [parse add_files $args {-norecurse} {-fileset}] options rest
    need fileset [dict get $options -fileset]
    foreach path [lindex $rest 0] { made file [need_file $path] }
}
proc create_ip {args} {
    lassign [parse create_ip $args {} {-vendor -library -name -module_name}] options rest
    set name [dict get $options -module_name]
    set kind [dict get $options -name]
    if {![dict exists $::env(STUB_IPS) $kind]} { error "there is no IP $kind in the catalogue" }
    dict set ::stub_objects "kind $name" $kind
    if {[dict exists $::stub_objects "ip $name"]} { error "IP $name is there already" }
    if {$name ni $::env(STUB_MODULES)} { error "nothing instantiates $name" }
    made ip $name
}
proc generate_target {what name} { record generate_target [list $what $name]; need ip $name }
proc update_compile_order {args} { parse update_compile_order $args {} {-fileset} }

proc set_property {args} {
    lassign [parse set_property $args {} {-dict}] options rest
    if {[dict exists $options -dict]} {
        set pairs [dict get $options -dict]
        set objects $rest
    } else {
        set pairs [lrange $rest 0 1]
        set objects [lrange $rest 2 end]
    }
    if {![llength $pairs] || [llength $pairs] % 2} { error "set_property: $args" }
    if {[llength $objects] != 1} { error "set_property on no object: $args" }
    foreach {name value} $pairs {
        if {[string match CONFIG.* $name]} {
            configure [lindex $objects 0] [string range $name 7 end] $value
            continue
        }
        set known 0
        foreach pattern $::stub_properties { if {[string match $pattern $name]} { set known 1 } }
        if {!$known} { error "there is no property $name" }
    }
}
# A property of an IP, which its kind has to have, with a value that it takes.
proc configure {ip name value} {
    set kind [dict get $::stub_objects "kind $ip"]
    dict set ::stub_objects "config $ip [string tolower $name]" [lindex $value 0]
    foreach {of known pattern} $::env(STUB_PROPERTIES) {
        if {$of eq $kind && $known eq $name} {
            if {![regexp $pattern $value]} { error "$kind: $name cannot be $value" }
            return
        }
    }
    error "$kind has no property $name"
}
proc get_property {name object} {
    record get_property [list $name $object]
    switch -- $name {
        PROGRESS { return [expr {[dict exists $::stub_objects "done $object"] ? "100%" : "0%"}] }
        STATUS { return "stub" }
        FLOW { return "Vivado Implementation" }
        IPDEF {
            set kind [dict get $::stub_objects "kind $object"]
            return xilinx.com:ip:$kind:[dict get $::env(STUB_IPS) $kind]
        }
        SLACK { return [expr {$object eq "" ? "" : $::env(STUB_SLACK)}] }
        DIRECTORY { return [run_folder $object] }
        NAME { return $object }
        PERIOD { return [lindex [dict get [clocks] $object] 0] }
        SOURCE_PINS { return [lindex [dict get [clocks] $object] 1] }
        default { error "there is no property $name to read" }
    }
}

# Runs and reports.
proc reset_run {name} { record reset_run [list $name]; need run $name }
proc launch_runs {args} {
    lassign [parse launch_runs $args {} {-jobs -to_step}] options rest
    made launched [need run [lindex $rest 0]]
}
proc wait_on_run {name} {
    record wait_on_run [list $name]
    need launched $name
    set failing [lsearch -exact $::stub_failing $name]
    set ::stub_failing [lreplace $::stub_failing $failing $failing]
    if {$failing < 0} { made done $name }
    if {$name eq "impl_1"} { need done synth_1 }
    file mkdir [run_folder $name]
    write_text [file join [run_folder $name] runme.log] [text_of_report messages]
}
proc run_folder {name} { return [file rootname $::stub_project].runs/$name }
proc open_run {name} {
    record open_run [list $name]
    need done $name
    made design open
    foreach object [dict keys $::stub_objects {file *.xdc}] {
        uplevel #0 [list source [string range $object 5 end]]
    }
}
proc get_timing_paths {args} {
    parse get_timing_paths $args {} {-delay_type -max_paths}
    return [expr {$::env(STUB_SLACK) eq "none" ? {} : "path"}]
}
proc create_run {args} {
    lassign [parse create_run $args {} {-parent_run -flow -strategy}] options name
    need run [dict get $options -parent_run]
    made run $name
}
proc phys_opt_design {args} { parse phys_opt_design $args {} {-directive}; need design open }
proc route_design {args} { parse route_design $args {-tns_cleanup} {}; need design open }
proc close_design {} { record close_design {}; dict unset ::stub_objects "design open" }
# What a report says is the environment's where that names it, else the file's of its name.
foreach report {
    report_utilization report_timing_summary report_cdc report_methodology report_bus_skew
    report_pulse_width report_drc report_route_status report_qor_assessment report_qor_suggestions
    report_clocks check_timing
} {
    proc $report {args} [string map [list @ $report] {
        lassign [parse @ $args {-hierarchical -details -verbose} {-file -max_paths -name}] options
        need design open
        set hierarchical [expr {[dict exists $options -hierarchical] ? "_hierarchical" : ""}]
        regexp {(?:report_)?(.*)} @ -> name
        write_text [dict get $options -file] [text_of_report $name$hierarchical]
    }]
}
proc text_of_report {name} {
    set file [file join $::env(STUB_FOLDER) $name.rpt]
    if {[dict exists $::env(STUB_REPORTS) $name]} { return [dict get $::env(STUB_REPORTS) $name] }
    if {$name eq "bus_skew"} {
        set count [expr {$::env(STUB_SKEWS) eq "" ? $::stub_skews : $::env(STUB_SKEWS)}]
        return "report_bus_skew\n[string repeat "Slack (MET) : 1.000ns\n" $count]"
    }
    if {![file exists $file]} { return "report_$name\n" }
    set handle [open $file]
    set text [read $handle]
    close $handle
    return $text
}
proc get_drc_violations {args} {
    lassign [parse get_drc_violations $args {-quiet} {-name -filter}] options rest
    set found {}
    foreach severity $::env(STUB_DRC) {
        if {[string match "*\"$severity\"" [dict get $options -filter]]} { lappend found $severity }
    }
    return $found
}
proc write_bitstream {args} {
    lassign [parse write_bitstream $args {-force} {}] options rest
    need design open
    write_text [lindex $rest 0] "bitstream\n"
}
proc write_cfgmem {args} {
    set valued {-format -interface -size -loadbit -file}
    lassign [parse write_cfgmem $args {-force} $valued] options rest
    lassign [dict get $options -loadbit] direction address bitstream
    need_file $bitstream
    if {$direction ne "up" || ![string is integer -strict $address]} { error "write_cfgmem $args" }
    if {[dict get $options -size] * 1048576 <= $address} { error "$address is not in the memory" }
    write_text [dict get $options -file] "mcs\n"
}

# A card at the end of a cable.
proc open_hw_manager {} { record open_hw_manager {}; made hw manager }
proc close_hw_manager {} { record close_hw_manager {} }
proc connect_hw_server {args} {
    lassign [parse connect_hw_server $args {} {-url}] options rest
    need hw manager
    if {[dict get $options -url] ne "localhost:3121"} { error "no hw_server there" }
    made hw server
}
proc open_hw_target {} { record open_hw_target {}; need hw server; made hw target }
proc get_hw_devices {args} {
    lassign [parse get_hw_devices $args {-quiet} {}] options pattern
    need hw target
    return [lsearch -all -inline -glob $::env(STUB_DEVICES) $pattern]
}
proc current_hw_device {device} { record current_hw_device [list $device]; made hw current }
proc program_hw_devices {device} { record program_hw_devices [list $device]; need hw current }

proc write_text {path text} {
    set handle [open $path w]
    puts -nonewline $handle $text
    close $handle
}

# Constraints: names are returned as they are asked for; the package's checker resolves them.
foreach query {get_ports get_cells get_pins get_nets} {
    proc $query {args} [string map [list QUERY $query] {
        lassign [parse QUERY $args {-hierarchical -quiet} {-of_objects -filter}] options rest
        if {[dict exists $options -of_objects]} { return [list of [dict get $options -of_objects]] }
        return [concat {*}$rest]
    }]
}
# The clocks at a place. A register's clock is named after it, as nothing says what drives it.
proc get_clocks {args} {
    set flags {-quiet -include_generated_clocks}
    lassign [parse get_clocks $args $flags {-of_objects}] options rest
    if {[llength $rest]} { return [concat {*}$rest] }
    if {![dict exists $options -of_objects]} { return [dict keys [clocks]] }
    set place [dict get $options -of_objects]
    if {[string match */C $place]} { return [list of $place] }
    return [dict keys [dict filter [clocks] script {name clock} {
        expr {$place in [lindex $clock 2]}
    }]]
}
# All clocks: those that constraints create, then those that IP makes of its properties, then the
# environment's. PG065: clk_wiz constrains its input and derives clk_out1_MODULE. PG195, PG213: the
# clock of the user's side has AXISTEN_IF's frequency. PG203: 322.265625 MHz at 4 lanes of 25.78 Gb/s.
proc clocks {} {
    set clocks $::stub_clocks
    foreach {path module} $::env(STUB_CELLS) {
        if {![dict exists $::stub_objects "kind $module"]} { continue }
        set config [list config $module]
        switch -- [dict get $::stub_objects "kind $module"] {
            clk_wiz {
                foreach key [dict keys $::stub_objects "config $module clkout?_requested_out_freq"] {
                    regexp {clkout(\d)} $key -> k
                    add_clock clocks clk_out${k}_$module $key $path inst/clk_out$k clk_out$k
                }
            }
            xdma { add_clock clocks axi_aclk "$config axisten_freq" $path inst/userclk axi_aclk }
            pcie4c_uscale_plus {
                add_clock clocks user_clk "$config axisten_freq" $path inst/userclk user_clk
            }
            cmac_usplus {
                dict set clocks txoutclk_$module \
                    [list 3.103 $path/inst/txoutclk [list $path/gt_txusrclk2]]
            }
        }
        set key "config $module prim_in_freq"
        if {[dict exists $::stub_objects $key] && ![string match *clk_100mhz_0_p* $clocks]} {
            add_clock clocks clk_100mhz_0_p $key {} clk_100mhz_0_p clk_100mhz_0_p
        }
    }
    return [dict merge $clocks $::env(STUB_CLOCKS)]
}
proc add_clock {clocks name key path source output} {
    upvar $clocks all
    set place [expr {$path eq "" ? "" : "$path/"}]
    set period [format %.3f [expr {1000.0 / [dict get $::stub_objects $key]}]]
    dict set all $name [list $period $place$source [list $place$output]]
}
proc current_design {} { return design }
proc set_operating_conditions {args} {
    parse set_operating_conditions $args {} {-design_power_budget}
}
proc get_pblocks {name} { need pblock $name }
proc create_pblock {name} { record create_pblock [list $name]; made pblock $name; return $name }
proc resize_pblock {args} { parse resize_pblock $args {} {-add}; need pblock [lindex $args 0] }
proc add_cells_to_pblock {args} { record add_cells_to_pblock $args; need pblock [lindex $args 0] }
proc create_clock {args} {
    lassign [parse create_clock $args {} {-name -period -waveform}] options rest
    set period [dict get $options -period]
    if {$period <= 0 || [llength $rest] != 1} { error "create_clock $args" }
    set port [lindex $rest 0]
    dict set ::stub_clocks [dict get $options -name] [list $period $port [list $port]]
}
foreach {name valued} {
    set_false_path {-from -to -through}
    set_max_delay {-from -to -through}
    set_bus_skew {-from -to}
    set_clock_groups {-group -name}
    set_multicycle_path {-from -to}
    set_input_delay {-clock}
    set_output_delay {-clock}
} {
    proc $name {args} [list parse_exception $name $valued]
}
proc parse_exception {name valued} {
    upvar args args
    set flags {-datapath_only -asynchronous -setup -hold}
    lassign [parse $name $args $flags $valued] options rest
    incr ::stub_skews [expr {$name eq "set_bus_skew"}]
    foreach {option value} $options {
        if {$option in $valued && $value eq ""} { error "$name: $option finds nothing" }
    }
}

# A kernel is packaged (UG1118, UG1393 "package_xo Command"): the core is one, in a folder of its own.
namespace eval ipx {}
foreach property {sdx_kernel sdx_kernel_type vitis_drc ipi_drc} { lappend ::stub_properties $property }
proc ipx::package_project {args} {
    set valued {-root_dir -vendor -library -taxonomy -set_current}
    lassign [parse ipx::package_project $args {-import_files} $valued] options rest
    file mkdir [dict get $options -root_dir]
    made core core
    made directory [dict get $options -root_dir]
}
proc ipx::current_core {} { need core core }
proc ipx::associate_bus_interfaces {args} {
    parse ipx::associate_bus_interfaces $args {} {-busif -clock -reset}
    need core [lindex $args end]
}
foreach {name flags} {create_xgui_files {} update_checksums {} check_integrity -kernel} {
    proc ipx::$name {args} "parse ipx::$name \$args {$flags} {}; need core \[lindex \$args end\]"
}
proc ipx::save_core {core} {
    record ipx::save_core [need core $core]
    made saved core
}
proc package_xo {args} {
    set valued {-xo_path -kernel_name -ip_directory -kernel_xml -ctrl_protocol -output_kernel_xml}
    lassign [parse package_xo $args {-force -quiet -verbose} $valued] options rest
    foreach name {-xo_path -kernel_name} {
        if {![dict exists $options $name]} { error "package_xo needs $name" }
    }
    need saved core
    need directory [dict get $options -ip_directory]
    need_file [dict get $options -kernel_xml]
    close [open [dict get $options -xo_path] w]
}

set script ""
for {set k 0} {$k < [llength $argv]} {incr k} {
    switch -- [lindex $argv $k] {
        -mode - -log { incr k }
        -source { set script [lindex $argv [incr k]] }
        -tclargs { set arguments [lrange $argv $k+1 end]; break }
        -notrace - -nojournal {}
        default { puts stderr "vivado: what is [lindex $argv $k]"; exit 1 }
    }
}
set argv [expr {[info exists arguments] ? $arguments : {}}]
unset k
if {[catch {uplevel #0 [list source $script]; save_project} message]} {
    # As Vivado tells of an error that a script does not catch: with its trace, and no mark.
    puts stderr $::errorInfo
    exit 1
}
